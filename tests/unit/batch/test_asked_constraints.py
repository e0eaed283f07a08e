"""Of which rows of a batch the contract's constraints are asked, and of which SELECT its types; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import load

FEED = ["id", "amount", "_change_type", "_commit_version"]
IS_TAKEN = "coalesce(_change_type in ('delete', 'update_preimage'), false)"
VERSION = {"kind": "version", "column": "_commit_version"}


def asked(strategy: str, names: list[str], repeated: int = 0, **settings: Any) -> tuple[str, str]:
    """The condition that a constraint must not break, and the rows that it is asked of."""
    config = {"contract": SimpleNamespace(enforced=True)}
    checks = [SimpleNamespace(type="check", name="positive", expression="amount > 0")]
    floodmark = load(config=config, model=SimpleNamespace(constraints=checks, columns={}))
    sent: list[str] = []
    floodmark._lists_changes = lambda: False
    floodmark._query_json = lambda sql: sent.append(sql) or [SimpleNamespace(n=[2, 0])]
    floodmark._strategy = lambda settings: {
        "counts": lambda run, stage, batch, source: {"repeated": repeated},
        "check_staged": floodmark._check_keys if strategy == "merge" else None,
        "apply": floodmark._apply_cdc if strategy == "cdc" else None,
    }
    given = {"strategy": strategy, "unique_key": ["id"], "cdc": None, "watermark": VERSION}
    run = {"settings": given | settings, "sql": "select * from stage"}
    source = {
        "sql": "select * from stage",
        "stage": "stage",
        "columns": [{"name": name, "type": "int", "ddl": "int"} for name in names],
    }
    batch = {"family": "version", "settings": run["settings"]}
    floodmark._checked_source(run, batch, source)
    ((_, condition, rows),) = [
        [sql, *sql.split("count_if(", 1)[1].split(")) as n)) from ")] for sql in sent
    ]
    assert [one["rows_judged"] for one in batch["constraint_results"]] == [2]
    return condition, " ".join(rows.split())


def test_a_row_that_a_change_takes_away_breaks_none() -> None:
    """Its delete has the values that the row had, or none at all."""
    condition, rows = asked("merge", FEED)
    assert condition == "not coalesce(((amount > 0)), false)"
    assert rows == f"( select `id`, `amount` from ( select * from stage ) where not {IS_TAKEN} )"


def test_the_latest_row_of_a_key_is_asked() -> None:
    """What a later version corrects is not written."""
    _, rows = asked("merge", FEED, repeated=1)
    assert "row_number() over (partition by `id` order by `_commit_version` desc nulls last" in rows
    assert rows.endswith(f"where _floodmark_rank = 1 ) where not {IS_TAKEN} )")


@pytest.mark.parametrize(
    ("strategy", "watermark"),
    [("append", None), ("merge", None), ("merge", {"kind": "column", "column": "at"})],
)
def test_elsewhere_all_rows_are_asked(strategy: str, watermark: dict[str, str] | None) -> None:
    """A column `_change_type` of what is no feed is the analyst's."""
    _, rows = asked(strategy, FEED[:3] if strategy == "merge" else FEED[:2], watermark=watermark)
    assert rows == "( select * from stage )"


def test_of_cdc_the_events_are_asked() -> None:
    cdc = {"start_at": "a", "end_at": "b", "ignore_null_updates": False}
    condition, rows = asked("cdc", FEED, cdc=cdc)
    told = "_floodmark_delete or _floodmark_truncate or ((amount > 0))"
    assert condition == f"not coalesce(({told}), false)"
    assert rows == "stage"


@pytest.mark.parametrize(
    ("kind", "part", "expected"),
    [
        ("incremental", None, ["compiled"]),
        ("backfill", None, ["compiled"]),
        # Their columns have the types of the table.
        ("replay", "rows", []),
        # Records are read again by the model's SELECT.
        ("replay", "records", ["compiled"]),
    ],
)
@pytest.mark.parametrize("strategy", ["append", "merge", "insert_overwrite"])
def test_types_are_asked_once_of_the_select_before_rules_and_casts(
    strategy: str, kind: str, part: str | None, expected: list[str]
) -> None:
    told: list[str] = []
    floodmark = load(config={"contract": SimpleNamespace(enforced=True)})
    floodmark._assert_contract = told.append
    floodmark._bounded_select = lambda run, batch: "compiled"
    floodmark._replayed_select = lambda run, batch: "held"
    floodmark._columns_of = lambda **_: []
    floodmark._table_columns = lambda run: []
    floodmark._is_judged = lambda batch: True
    floodmark._whole_partitions_select = lambda *given: given[2]
    floodmark._judge = lambda run, batch, sql: (
        floodmark._strategy(run["settings"])["reads"] or (lambda *given: given[2])
    )(run, batch, "judged")
    floodmark._check_table_columns = floodmark._quarantine_held = lambda *_: None
    floodmark._read = lambda run, batch, sql: floodmark._overwrite_staged(run, batch, sql)
    floodmark._apply = lambda run, batch, source: None
    settings = {"strategy": strategy, "watermark": None, "files": None, "unique_key": []}
    run = {"settings": settings, "guarded": False}
    run |= {"target": {"is_delta": True, "is_known": True}}
    batch = {"kind": kind, "asked": {"part": part}, "replaces": False, "settings": settings}
    floodmark._load_read(run, batch)
    assert told == expected
