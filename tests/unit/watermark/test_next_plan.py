"""What the next run would load behind a run that died with rows in the table and no event of it; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import load

SETTINGS = {"watermark": {"column": "n", "lookback": 3}}
#: The last batch of the ledger: planned, and not committed.
OPEN = {
    "model": "shop.orders",
    "batch_id": 2,
    "kind": "incremental",
    "generation": "g",
    "family": "sequence",
}
OPEN |= {"high": "20", "cap": None, "watermark_column": "n", "lookback": 1, "upstream_version": 7}  # fmt: skip
COMMITTED = {"batch_id": 1, "mark": "10"}


def looked(
    history: list[str], planned: dict[str, Any], committed: Any = COMMITTED, **more: Any
) -> dict[str, Any]:
    """What is known of the next run of a table whose commits have these tags."""
    asked: list[str] = []

    def run_query(sql: str) -> SimpleNamespace:
        asked.append(sql)
        return SimpleNamespace(rows=[("15",)])

    floodmark = load(
        should_full_refresh=lambda: more.get("full_refresh", False), run_query=run_query
    )
    floodmark._ledger_exists = lambda: True
    floodmark._model_state = lambda: {
        "last_batch_id": planned["batch_id"],
        "finished_id": more.get("finished_id", 1),
        "planned": planned,
        "committed": committed,
        "landed": committed,
    }
    floodmark._target_state = lambda state: {
        "is_empty": more.get("is_empty", False),
        "is_delta": True,
        "exists": True,
    }
    floodmark._history = lambda table, limit: [
        {"tag": f"floodmark/shop.orders/{tag}", "operation": "MERGE", "version": 3}
        | {"counts": {}, "writer": None, "peak": None, "counted": None, "restored": None}
        for tag in history
    ]
    floodmark._columns_of = lambda relation: [{"name": "N"}]
    run = floodmark._look(SETTINGS, {"relation": "raw.events"})
    return run | {"asked": asked}


def test_what_is_in_the_table_is_not_offered_again() -> None:
    """It was read with the lookback that the model had then."""
    run = looked(["g/2", "g/1"], OPEN)
    found = run["state"]["committed"]
    assert (found["mark"], found["lookback"], found["upstream_version"]) == ("20", 1, 7)
    assert run["kind"] == "incremental" and not run["asked"]


def test_a_first_load_without_an_event() -> None:
    """Behind an is_incremental() guard its plan has no high bound: the table's rows tell the mark."""
    first = OPEN | {"batch_id": 1, "kind": "first_load"}
    run = looked(["g/1"], first, None, finished_id=None)
    assert run["state"]["committed"]["mark"] == "20"
    run = looked(["g/1"], first | {"high": None, "cap": "18"}, None, finished_id=None)
    assert run["state"]["committed"]["mark"] == "15"
    assert run["asked"][0].endswith(" where `n` <= 18")


@pytest.mark.parametrize(
    ("history", "planned", "more"),
    [
        (["g/1"], OPEN, {}),
        (["g/2", "g/1"], OPEN, {"finished_id": 2}),
        (["g/2", "g/1"], OPEN | {"kind": "backfill"}, {}),
        (["g/2", "g/1"], OPEN | {"kind": "replay"}, {}),
        (["g/2", "g/1"], OPEN, {"full_refresh": True}),
        (["g/2", "g/1"], OPEN, {"is_empty": True}),
    ],
)
def test_else_the_last_committed_batch_has_the_mark(
    history: list[str], planned: dict[str, Any], more: dict[str, Any]
) -> None:
    assert looked(history, planned, **more)["state"]["committed"] == COMMITTED


WAITED = {"low": "13", "high": "15", "at": 0}


@pytest.mark.parametrize(
    ("gaps", "first", "wait", "high", "kind"),
    [
        ("wait", 13, None, 12, "incremental"),
        ("wait", 13, WAITED | {"at": 3_600_000_000}, 12, "incremental"),
        ("wait", 13, WAITED, 15, "incremental"),
        ("wait", 16, WAITED, 15, "incremental"),
        ("wait", 11, None, 10, "nothing new"),
        ("warn", 13, None, 18, "incremental"),
    ],
)
def test_rows_that_wait_for_a_gap_are_not_offered(
    gaps: str, first: int, wait: dict[str, Any] | None, high: int, kind: str
) -> None:
    """As the run would hold them back, two hours past the epoch; nothing is recorded, and nobody is warned."""
    floodmark = load(var=lambda name, default: default)
    settings = {"watermark": SimpleNamespace(gaps=gaps, gap_timeout="2 hours")}
    upstream = {"family": "sequence", "relation": "shop.events", "column": "n"}
    floodmark._settings = lambda: settings
    floodmark._upstream = lambda settings, required: upstream
    floodmark._look = lambda settings, upstream: {
        "settings": settings,
        "upstream": upstream,
        "state": {"committed": {"mark": "10"}},
        "target": {"exists": True},
        "replaces": False,
        "full_refresh": False,
        "first": True,
        "kind": "incremental",
    }
    floodmark._upstream_commit = lambda run, replaces: {"version": 7}
    floodmark._plan_watermark = lambda run, mark, ceiling: {
        "family": "sequence",
        "is_waiting": True,
        "is_last": True,
        "ceiling": 18,
        "start_position": None,
        "first_position": 11 if first > 11 else 12,
        "low_position": mark,
        "high_position": 18,
        "high": "18",
    }
    floodmark._missing_ranges = lambda upstream, low, high: {
        "count": 1,
        "shown": [str(first)],
        "first": first,
    }
    floodmark._ledger_exists = lambda: True
    floodmark._last_wait = lambda run: wait
    floodmark._now = lambda: 7_200_000_000
    for name in ("_record", "_warn_once"):
        setattr(floodmark, name, lambda *_: pytest.fail("a look changes nothing"))
    plan = floodmark._next_plan()
    assert (plan["high_position"], plan["high"], plan["kind"]) == (high, str(high), kind)


@pytest.mark.parametrize(
    ("gaps", "first", "looked"),
    [("fail", True, [18]), ("fail", False, []), ("warn", True, [12]), ("warn", False, [12])],
)
def test_how_far_a_step_looks_for_gaps(gaps: str, first: bool, looked: list[int]) -> None:
    """A run that a gap fails has loaded nothing before."""
    floodmark, asked = load(), []
    floodmark._missing_ranges = lambda upstream, low, high: (
        asked.append(high) or {"count": 0, "shown": [], "first": None}
    )
    run = {"settings": {"watermark": SimpleNamespace(gaps=gaps)}, "first": first, "upstream": {}}
    plan = {
        "family": "sequence", "is_waiting": True, "low_position": 10, "high_position": 12,
        "ceiling": 18, "start_position": None,
    }  # fmt: skip
    assert floodmark._gaps_of(run, plan) is None
    assert asked == looked


def test_what_sql_lets_pass_beyond_the_last_number_is_no_gap() -> None:
    floodmark = load()
    floodmark._high_by_sql = lambda *_: 30
    floodmark._query_json = lambda sql: [
        {"first": "11", "last": "18", "rows": 4, "rows_null": 0, "rows_future": 0}
    ]
    watermark = SimpleNamespace(column="n", sql="max(n) + 12", nulls="error")
    reach = {"start": None, "step": 2, "lookback": 0}
    run = {
        "settings": {"watermark": watermark}, "guarded": False,
        "upstream": {"family": "sequence", "relation": "shop.raw", "column": "n"},
    }  # fmt: skip
    plan = floodmark._plan_watermark(run, 10, None, reach)
    assert (plan["high_position"], plan["ceiling"]) == (12, 18)
