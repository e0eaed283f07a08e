"""A first load that died between its two tables is finished from what was resolved, whatever the settings say now; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load

EVENT = ["_floodmark_sequence", "_floodmark_delete", "_floodmark_truncate"]
RESOLVED = ["_floodmark_sequence", "_floodmark_delete", "__start_at", "__end_at", "_floodmark_table_write",
            "_floodmark_state_write"]  # fmt: skip


def columns_of(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "type": "int", "ddl": "int"} for name in names]


def macros() -> tuple[SimpleNamespace, list[str]]:
    floodmark, sent = load(this="t"), []
    floodmark._state_relation = lambda: "state"
    floodmark._writer = lambda batch: "one-two"
    floodmark._apply_once = lambda table, batch, sql: sent.append(sql)
    floodmark._state_properties_sql = lambda columns: ""
    return floodmark, sent


def run_of(**cdc: Any) -> dict[str, Any]:
    known = {"scd_type": 2, "column_list": [], "except_column_list": [], "reads_feed": False,
             "ignore_null_updates": False}  # fmt: skip
    return {"settings": {"cdc": known | cdc, "unique_key": ["k"]}}


@pytest.mark.parametrize("left_out", [["op"], ["op", "a", "b"]])
def test_what_was_resolved_is_written(left_out: list[str]) -> None:
    """A column that the settings have got since has no values there; one that they leave out since has."""
    floodmark, sent = macros()
    source = {"columns": columns_of("k", "op", "a", "b", *EVENT), "resolved": "resolved", "has_state": False,
              "resolved_columns": columns_of("K", "a", *RESOLVED), "changes": {"state_write": 1}}  # fmt: skip
    floodmark._replace_state(
        run_of(except_column_list=left_out), {}, source, SimpleNamespace(writer="one-two")
    )
    assert (
        "select `k`, `a`, `_floodmark_sequence`, `_floodmark_kind`, `_floodmark_at` from ("
        in sent[0]
    )


@pytest.mark.parametrize(
    ("ignores", "resolved", "refused"),
    [
        (False, RESOLVED, False),
        (True, RESOLVED, True),
        (True, ["_floodmark_columns", *RESOLVED], False),
        (False, ["_floodmark_columns", *RESOLVED], True),
    ],
)
def test_another_memory_is_refused(ignores: bool, resolved: list[str], refused: bool) -> None:
    floodmark, _ = macros()
    written: list[Any] = []
    floodmark._read_stage_of = lambda run, batch, writer: None
    floodmark._has_state = lambda: False
    floodmark._next_attempt = lambda batch, tables: 2
    floodmark._stage_relation = lambda batch: "stage"
    floodmark._require_whole = lambda batch, stage: None
    floodmark._columns_of = lambda relation: columns_of("k", *EVENT)
    floodmark._event_counts = lambda run, stage, columns: {}
    floodmark._resolve = lambda run, batch, source: source.update(
        {"resolved_columns": columns_of("k", *resolved)}
    )
    floodmark._replace_state = lambda *arguments: written.append(arguments)
    run, batch = run_of(ignore_null_updates=ignores), {"batch_id": 1}
    landed = SimpleNamespace(writer="one-two")
    if not refused:
        floodmark._recover_state(run, batch, landed)
        assert written
        return
    with pytest.raises(Refused, match="ignore_null_updates was changed while batch 1 was unfini"):
        floodmark._recover_state(run, batch, landed)
    assert not written
