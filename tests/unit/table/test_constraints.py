"""Which constraints of a contract a table is given, and which are taken off it; without Spark."""

from __future__ import annotations

import hashlib
import re
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load


def md5(text: str) -> str:
    return hashlib.md5(text.encode()).hexdigest()


class Config(dict[str, Any]):
    """dbt's config, with an enforced contract."""

    def __init__(self) -> None:
        super().__init__(contract=SimpleNamespace(enforced=True))


class Table:
    """A table's properties, which the statements change."""

    def __init__(self, by_hand: dict[str, str]) -> None:
        self.properties = {f"delta.constraints.{name}": text for name, text in by_hand.items()}
        self.sent: list[str] = []
        self.asked = 0
        self.columns = ["a", "b", "c"]
        # Condition -> how many rows of the table break it.
        self.broken: dict[str, int] = {}

    def macros(self, checks: dict[str, str]) -> SimpleNamespace:
        """The macros under a contract with these checks."""
        constraints = [
            SimpleNamespace(type="check", name=name, expression=text)
            for name, text in checks.items()
        ]
        columns = {name: SimpleNamespace(data_type="int") for name in ("a", "b", "c")}
        model = SimpleNamespace(constraints=constraints, columns=columns)
        floodmark = load(config=Config(), model=model, this="shop.orders", local_md5=md5)
        floodmark._lists_changes = lambda: False
        floodmark._execute = self.execute
        floodmark._set_properties = self.set
        floodmark._properties_of = self.look
        floodmark._query_json = self.query
        floodmark._columns_of = lambda query=None, relation=None: [
            {"name": name, "type": "int"} for name in self.columns
        ]
        return floodmark

    def set(self, properties: dict[str, str]) -> None:
        self.sent.append("set")
        self.properties |= properties

    def query(self, sql: str) -> list[Any]:
        """The counts of conditions, or the rows that break the first."""
        self.sent.append(sql)
        if "count_if" not in sql:
            return [SimpleNamespace(rule=0, shown='{"a":50}')]
        asked = re.findall(r"count_if\(not coalesce\(\(\((.*?)\)\), false\)\)", sql)
        return [SimpleNamespace(n=[9, *(self.broken.get(text, 0) for text in asked)])]

    def look(self, relation: Any) -> dict[str, str]:
        self.asked += 1
        return dict(self.properties)

    def execute(self, statements: list[str]) -> None:
        for sql in statements:
            self.sent.append(sql)
            name = sql.split("`")[3]
            if "add constraint" in sql:
                self.properties[f"delta.constraints.{name}"] = sql.split(" check ")[1]
            else:
                self.properties.pop(f"delta.constraints.{name}", None)

    def holds(self) -> dict[str, str]:
        """The constraints that it has."""
        start = "delta.constraints."
        return {
            key.removeprefix(start): text
            for key, text in self.properties.items()
            if key.startswith(start)
        }


RUN: dict[str, Any] = {
    "target": {"is_delta": True, "is_empty": False}, "full_refresh": False, "is_untouched": False,
    "settings": {"unique_key": []},
}  # fmt: skip


def loaded(table: Table, checks: dict[str, str]) -> dict[str, str]:
    """What the table holds once a run has begun, before its first batch."""
    floodmark = table.macros(checks)
    run = dict(RUN)
    floodmark._relax_constraints(run)
    before = table.holds()
    if run.get("properties"):
        floodmark._check_added_constraints(run, run["properties"], "Nothing was loaded")
    floodmark._persist_constraints("shop.orders", run.get("properties"))
    return before


def test_what_leaves_the_contract_leaves_the_table_before_the_batch() -> None:
    table = Table({"handmade": "b > 0"})
    loaded(table, {"Small": "a < 9", "big": "a > 1", "other": "c > 0"})
    assert table.holds() == {
        "handmade": "b > 0", "small": "(a < 9)", "big": "(a > 1)", "other": "(c > 0)",
    }  # fmt: skip
    # One that is relaxed goes before the batch, and comes with its new text behind it.
    before = loaded(table, {"Small": "a < 99", "other": "c > 0"})
    assert before == {"handmade": "b > 0", "other": "(c > 0)"}
    assert table.holds() == before | {"small": "(a < 99)"}
    # What stays costs one look, and no statement.
    table.sent, table.asked = [], 0
    loaded(table, {"small": "a < 99", "other": "c > 0"})
    assert (table.sent, table.asked) == ([], 1)


def test_what_somebody_else_put_there_stays() -> None:
    table = Table({"small": "a < 9"})
    loaded(table, {"small": "a < 9", "other": "a > 0"})
    loaded(table, {"other": "a > 0"})
    assert table.holds() == {"small": "a < 9", "other": "(a > 0)"}


def test_a_contract_without_constraints_asks_nothing_until_a_batch_is_refused() -> None:
    table = Table({"handmade": "b > 0"})
    loaded(table, {"small": "a < 9"})
    table.asked = 0
    assert loaded(table, {}) == {"handmade": "b > 0", "small": "(a < 9)"}
    floodmark = table.macros({})
    assert floodmark._obsolete_constraints("[DIVIDE_BY_ZERO] no") is None
    assert table.asked == 0
    said = floodmark._obsolete_constraints("[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] small")
    assert "no longer has small, which shop.orders had from it. It is dropped now" in said
    assert table.holds() == {"handmade": "b > 0"}
    assert floodmark._obsolete_constraints("[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] b") is None


def test_a_run_that_dies_before_it_adds_one_leaves_none_that_nobody_takes_off() -> None:
    table = Table({})
    floodmark = table.macros({"small": "a < 9"})

    def die(statements: list[str]) -> None:
        table.execute(statements)
        raise RuntimeError

    floodmark._execute = die
    with pytest.raises(RuntimeError):
        floodmark._persist_constraints("shop.orders")
    loaded(table, {"other": "a > 0"})
    assert table.holds() == {"other": "(a > 0)"}


@pytest.mark.parametrize("by_hand", [{}, {"handmade": "a > 0"}])
def test_ours_are_off_while_a_column_grows_and_those_of_others_are_named(
    by_hand: dict[str, str],
) -> None:
    table = Table(by_hand)
    loaded(table, {"small": "a < 9"})
    floodmark = table.macros({"small": "a < 9"})
    condition = "DELTA_CONSTRAINT_DEPENDENT_COLUMN_CHANGE"

    def widen(*_: Any) -> dict[str, Any]:
        blocked = table.holds() != {}
        said = f"[{condition}] {', '.join(table.holds())}" if blocked else None
        return {"error": said, "condition": condition if blocked else None, "value": not blocked}

    floodmark._tried = widen
    run = RUN | {"properties": table.look("shop.orders"), "table_columns": []}
    if by_hand:
        with pytest.raises(Refused, match=r"handmade\. Drop the constraint \(alter table shop\.or"):
            floodmark._widen_table(run, [])
    else:
        floodmark._widen_table(run, [])
    assert (table.holds(), run["table_columns"]) == (by_hand, None)
    floodmark._persist_constraints("shop.orders", run["properties"])
    assert table.holds() == by_hand | {"small": "(a < 9)"}


def test_what_the_property_says_already_makes_no_commit() -> None:
    """Delta may refuse a constraint again and again."""
    table = Table({})
    floodmark = table.macros({"small": "a < 9"})

    def refuse(statements: list[str]) -> None:
        raise RuntimeError

    floodmark._execute = refuse
    for _ in range(2):
        with pytest.raises(RuntimeError):
            floodmark._persist_constraints("shop.orders")
    assert table.sent == ["set"]


def test_rows_of_the_table_that_break_a_new_constraint_are_named_and_nothing_is_sent() -> None:
    """One that is only tightened stays, until its successor holds."""
    table = Table({})
    loaded(table, {"small": "a < 99"})
    table.broken = {"a < 9": 2}
    for _ in range(2):
        table.sent = []
        with pytest.raises(
            Refused,
            match=r"rows that shop\.orders has break the contract's constraints: small \(2 rows\)\. Nothing was "
            r'loaded: correct these rows, .* run once with --full-refresh\. small: {"a":50}',
        ):
            loaded(table, {"small": "a < 9", "other": "c > 0"})
        assert all("select" in sql for sql in table.sent)
        assert table.holds() == {"small": "(a < 99)"}
    table.broken = {}
    loaded(table, {"small": "a < 9", "other": "c > 0"})
    assert table.holds() == {"small": "(a < 9)", "other": "(c > 0)"}


def test_a_check_without_a_name_stays_until_the_one_in_its_place_holds() -> None:
    """Each condition has a name of its own."""
    name = {text: f"check_{md5(text)[:12]}" for text in ("a < 99", "a < 9", "a < 999")}
    table = Table({"handmade": "b > 0"})
    loaded(table, {"": "a < 99"})
    table.broken = {"a < 9": 2}
    for _ in range(2):
        with pytest.raises(Refused, match=rf"break the contract's constraints: {name['a < 9']} "):
            loaded(table, {"": "a < 9", "other": "c > 0"})
        assert table.holds() == {"handmade": "b > 0", name["a < 99"]: "(a < 99)"}
    # A named one that is broken keeps no other.
    table.broken = {"c > 0": 1}
    with pytest.raises(Refused, match="constraints: other "):
        loaded(table, {"other": "c > 0"})
    assert table.holds() == {"handmade": "b > 0"}
    table.broken = {}
    loaded(table, {"": "a < 9"})
    # One that is relaxed goes before the batch.
    assert loaded(table, {"": "a < 999"}) == {"handmade": "b > 0"}
    assert table.holds() == {"handmade": "b > 0", name["a < 999"]: "(a < 999)"}


def test_a_column_that_the_next_batch_adds_is_null_in_the_rows_that_are_there() -> None:
    table = Table({"handmade": "b > 0"})
    table.columns = ["A", "b"]
    loaded(table, {"other": "c > 0"})
    (asked,) = [sql for sql in table.sent if "count_if" in sql]
    assert asked.endswith(" from (select *, cast(null as int) as `c` from shop.orders)")


@pytest.mark.parametrize(
    ("checks", "doubled"),
    [
        ([("a", "positive", "a > 0"), ("b", "positive", "b > 0")], 1),
        ([("a", "Positive", "a > 0"), ("b", "positive", "b > 0"), ("c", "POSITIVE", "c > 0")], 2),
        ([("a", "b_not_null", "a > 0"), ("b", None, None)], 1),
        ([("a", "positive", "a > 0"), ("b", "positive", "a > 0")], 0),
        ([("a", None, None), ("b", "positive", "b > 0")], 0),
    ],
)
def test_two_constraints_of_one_name_are_refused(
    checks: list[tuple[str, str | None, str | None]], doubled: int
) -> None:
    """Of a dictionary's two equal keys one would be lost."""
    columns = {
        column: SimpleNamespace(
            constraints=[
                SimpleNamespace(
                    type="check" if text else "not_null", name=name, expression=text
                )
            ]
        )
        for column, name, text in checks
    }  # fmt: skip
    floodmark = load(config=Config(), model=SimpleNamespace(constraints=[], columns=columns))
    assert len(floodmark._doubled_constraint_problems()) == doubled
