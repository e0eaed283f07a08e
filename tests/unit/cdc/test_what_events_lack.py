"""SCD 2: columns that have left the SELECT keep their values, whichever of two events of a sequence wins; without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.macros import load

CDC = {
    "scd_type": 2, "start_at": "__start_at", "end_at": "__end_at", "sequence": "seq", "sequence_by": ["seq"],
    "column_list": [], "except_column_list": [], "reads_feed": False, "tracked": [], "untracked": [],
}  # fmt: skip


def columns_of(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "type": "string", "ddl": "string"} for name in names]


def resolved(given: list[str], is_ahead: bool = False, ignores: Any = False) -> str:
    """The SELECT for a table with the columns k, a and b."""
    floodmark = load(this="t")
    floodmark._scd2_known_sql = lambda *arguments: "known"
    floodmark._scd2_open_sql = lambda *arguments: "open"
    floodmark._table_own_columns = lambda run: columns_of("k", "a", "b")
    run = {"settings": {"cdc": CDC | {"ignore_null_updates": ignores}, "unique_key": ["k"], "files": None},
           "partitions": []}  # fmt: skip
    source = {"columns": columns_of(*given, "_floodmark_sequence"), "stage": "stage",
              "counts": {"same": 0}, "is_ahead": is_ahead}  # fmt: skip
    return str(floodmark._scd2_sql(run, {"replaces": False}, source))


@pytest.mark.parametrize("ignores", [False, ["a"]])
def test_a_tie_keeps_what_the_known_row_has(ignores: Any) -> None:
    """The event may rank first, and has no b: the row or the event that is known of its sequence gives it."""
    sql = resolved(["k", "a"], ignores=ignores)
    known = (
        "first_value(if(_floodmark_what in ('event', 'start', 'gone'), null, struct(`b` as v)), true) "
        "over (partition by `k`, _floodmark_sequence) as _floodmark_known_0"
    )
    assert sql.count(known) == 1 and sql.index(known) < sql.index("_floodmark_rank = 1")
    assert "select * except (`b`), last_value(if(_floodmark_delete, struct(cast(null as string) as v), _floodmark_known_0), true)" in sql  # fmt: skip


def test_above_the_peak_a_sequence_has_one_event() -> None:
    sql = resolved(["k", "a"], is_ahead=True)
    assert (
        ", if(_floodmark_what in ('event', 'start', 'gone'), null, struct(`b` as v)) as _floodmark_known_0"
        in sql
    )
    assert "first_value" not in sql


def test_nothing_is_kept_where_nothing_is_missing() -> None:
    for is_ahead in (True, False):
        assert "_floodmark_known_" not in resolved(["k", "a", "b"], is_ahead=is_ahead)
