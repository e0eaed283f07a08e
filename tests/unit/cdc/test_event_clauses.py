"""Settings of cdc and snapshot_diff that name what the SELECT does not have; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load

#: A SELECT of a key, a sequence and a flag: what Spark can analyse of it, and the types.
KNOWN = {"id": "string", "seq": "int", "op = 'd'": "boolean", "op": "string"}
BATCH = {"replaces": True}


class SparkRefused(Exception):
    """What Spark says of a statement."""


def columns(**types: str) -> list[dict[str, str]]:
    return [{"name": name, "type": ddl, "ddl": ddl} for name, ddl in types.items()]


def macros() -> SimpleNamespace:
    """The macros over a Spark that knows these clauses alone."""

    def attempt(macro: Any, *given: Any) -> dict[str, Any]:
        try:
            return {"value": macro(*given), "error": None, "condition": None, "raised": None}
        except SparkRefused as exc:
            return {"value": None, "error": str(exc), "condition": "X", "raised": exc}

    def throw(exc: Exception) -> None:
        raise exc

    adapter = SimpleNamespace(floodmark_plugin=True, floodmark_try=attempt, floodmark_raise=throw)
    floodmark = load(adapter=adapter)

    def columns_of(query: str) -> list[dict[str, str]]:
        found = columns(id="string", seq="int", op="string")
        head = query.split(" from (\n")[0]
        if head == "select *" or "broken" in query:
            raise SparkRefused("the SELECT is broken")
        for clause in head.removeprefix("select *, ").split(", ") if head != query else []:
            text, _, name = clause.rpartition(" as ")
            text = text.removeprefix("(").removesuffix(")")
            if text not in KNOWN | {"false": "boolean"}:
                raise SparkRefused(f"[UNRESOLVED] {text} is not known\nplan")
            found += columns(**{name: (KNOWN | {"false": "boolean"})[text]})
        return found

    floodmark._columns_of = columns_of
    return floodmark


def run_of(**cdc: Any) -> dict[str, Any]:
    sequence_by = cdc.get("sequence_by", ["seq"])
    settings = {
        "sequence": sequence_by[0],
        "sequence_by": sequence_by,
        "deletes": None,
        "truncates": None,
        "reads_feed": False,
        "ignore_null_updates": False,
        "column_list": [],
        "except_column_list": [],
        "tracked": [],
        "untracked": [],
        "scd_type": 1,
        "start_at": "s",
        "end_at": "e",
    } | cdc
    return {
        "settings": {"cdc": settings, "unique_key": ["id"], "on_schema_change": "ignore"},
        "target": {"is_delta": False, "exists": False},
    }


def refused(run: dict[str, Any], select_sql: str = "select id, seq, op from feed") -> str:
    with pytest.raises(Refused) as found:
        macros()._conformed_event_columns(run, BATCH, select_sql)
    return str(found.value)


def test_every_clause_that_spark_does_not_know_is_named() -> None:
    """With the other problems of the columns."""
    said = refused(
        run_of(sequence_by=["sq"], deletes="opp", truncates="op = 't'", column_list=["nope", "id"])
    )
    assert said.split("\n")[0].endswith("4 problems")
    for one in (
        'cdc.sequence_by: got "sq"; expected an expression of the SELECT\'s columns (id, seq, op). [UNRESOLVED] sq',
        'cdc.apply_as_deletes: got "opp"; expected a condition of the SELECT\'s columns (id, seq, op). [UNRESOLVED]',
        "cdc.apply_as_truncates: got \"op = 't'\"; expected a condition of the SELECT's columns",
        'cdc.column_list: got "nope"; expected columns of the SELECT. Correct the name',
    ):
        assert one in said, said
    assert "plan" not in said


def test_a_flag_that_is_no_condition_is_told_with_the_rest() -> None:
    said = refused(run_of(sequence_by=["sq"], deletes="op"))
    assert "2 problems" in said and 'cdc.apply_as_deletes: got "op string"' in said


def test_settings_that_fit_are_asked_once() -> None:
    floodmark = macros()
    asked: list[str] = []
    columns_of = floodmark._columns_of

    def note(query: str) -> list[dict[str, str]]:
        asked.append(query)
        return columns_of(query)

    floodmark._columns_of = note
    found = floodmark._conformed_event_columns(
        run_of(deletes="op = 'd'"), BATCH, "select id, seq, op from feed"
    )
    assert [one["type"] for one in found[-3:]] == ["int", "boolean", "boolean"]
    assert len(asked) == 1


def test_a_select_that_is_wrong_says_so_itself() -> None:
    with pytest.raises(SparkRefused, match="the SELECT is broken"):
        macros()._conformed_event_columns(run_of(), BATCH, "select broken")


@pytest.mark.parametrize(
    ("scope", "problem"),
    [
        ("op = 'd'", None),
        ("region = 'N'", "got \"region = 'N'\"; expected a condition of the SELECT's columns (id, seq, op). [UNRESOLVED]"),
        ("op", 'got "op string"; expected a condition of'),
        (None, None),
    ],
)  # fmt: skip
def test_a_scope_is_a_condition_of_the_columns(scope: str | None, problem: str | None) -> None:
    floodmark = macros()
    snapshot = {
        "scope": scope,
        "compared": ["nope"],
        "excepted": [],
        "version": None,
        "output": "table",
        "scd_type": 1,
        "on_missing": "delete",
    }
    run = run_of()
    run["settings"]["snapshot"] = snapshot
    given = columns(id="string", seq="int", op="string")
    with pytest.raises(Refused) as found:
        floodmark._check_snapshot_columns(run, given, "select id, seq, op from src")
    said = str(found.value)
    assert 'snapshot_diff.compare_columns: got "nope"' in said
    assert ("snapshot_diff.scope" in said) == (problem is not None)
    assert problem is None or f"snapshot_diff.scope: {problem}" in said
