"""What keeps other runs from applying a batch that fails; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load

LANDED = {"version": 7}


@pytest.fixture
def floodmark() -> SimpleNamespace:
    """The macros over a Delta table, with `done` for what they do."""
    done: list[str] = []
    loaded = load(invocation_id="11111111-2222")
    loaded.done = done
    loaded._is_delta_there = lambda: True
    loaded._fence = lambda batch: done.append("fence")
    loaded._landed = lambda table, batch: None
    loaded._take_back_quarantined = lambda batch: done.append("take back")
    loaded._record = lambda event, batch, values: done.append(event)
    loaded._results_literal = lambda batch: "null"
    loaded._stage_relation = lambda batch: "stage"
    loaded._stages = lambda table: []
    loaded._drop_staging_tables = lambda tables: None
    return loaded


def batch_of(strategy: str = "append", **more: Any) -> dict[str, Any]:
    return {"batch_id": 3, "kind": "incremental", "settings": {"strategy": strategy}} | more


@pytest.mark.parametrize("more", [{}, {"is_taken_over": True}, {"kind": "first_load"}])
def test_the_fence_comes_first(floodmark: SimpleNamespace, more: dict[str, Any]) -> None:
    """A run that has taken the batch over may still live, also where this run planned it."""
    floodmark._fail(batch_of(rules=["r"], **more), "no", True)
    assert floodmark.done == ["fence", "take back", "failed"]


def test_no_fence_where_rows_or_rules_are_the_cause(floodmark: SimpleNamespace) -> None:
    floodmark._fail(batch_of(rules=["r"]), "no")
    assert floodmark.done == ["take back", "failed"]


@pytest.mark.parametrize(
    ("error", "may_pass"),
    [
        ("[USER_RAISED_EXCEPTION] `c` is int in the table and cannot hold: x", False),
        ("[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK constraint positive (n > 0)", False),
        ("[CAST_INVALID_INPUT] 'x'", False),
        ("[TASK_WRITE_FAILED] Task failed while writing rows to file:/a", True),
        ("[FAILED_READ_FILE.NO_HINT] file:/a", True),
        ("The disk is full: [Errno 28]", True),
        ("Job aborted: executor 3 lost", True),
    ],
)
def test_what_another_run_may_get_through(
    floodmark: SimpleNamespace, error: str, may_pass: bool
) -> None:
    assert bool(floodmark._may_pass(error)) is may_pass


def test_a_rejected_batch_leaves_no_settings_of_what_it_read(floodmark: SimpleNamespace) -> None:
    """Another run may read the file that this one cannot, so the batch is fenced."""
    floodmark._reset_batch_conf = lambda run, batch: floodmark.done.append("reset")
    floodmark._note_rejected("a file cannot be read", True, {}, batch_of())
    floodmark._note_rejected("the file has another column", False, {}, batch_of())
    assert floodmark.done == ["reset", "fence", "failed", "reset", "failed"]


@pytest.mark.parametrize(
    "batch",
    [
        # What no other run would load: it is planned anew.
        batch_of("snapshot_diff"),
        batch_of(kind="full_refresh"),
        batch_of(kind="backfill"),
        batch_of(kind="replay"),
        # Fenced on both of its tables by itself.
        batch_of("cdc"),
    ],
)
def test_no_fence_where_nobody_else_loads_it(
    floodmark: SimpleNamespace, batch: dict[str, Any]
) -> None:
    floodmark._fail(batch, "no", True)
    assert "fence" not in floodmark.done and "failed" in floodmark.done


def test_no_fence_where_there_is_no_table(floodmark: SimpleNamespace) -> None:
    floodmark._is_delta_there = lambda: False
    floodmark._fail(batch_of(), "no", True)
    assert floodmark.done == ["failed"]


def test_a_batch_that_another_run_has_finished_is_not_failed(floodmark: SimpleNamespace) -> None:
    floodmark._landed = lambda table, batch: LANDED
    with pytest.raises(Refused, match="another run has finished batch 3 meanwhile: run again"):
        floodmark._fail(batch_of(rules=["r"]), "no", True)
    assert floodmark.done == ["fence"]


def test_a_table_that_takes_no_fence(floodmark: SimpleNamespace) -> None:
    """The error at hand is shown; a batch that was taken over stays open."""
    refused = {"error": "CHAR", "raised": ValueError("CHAR")}
    floodmark._tried = lambda macro, batch: SimpleNamespace(**refused)
    floodmark._reset_conf = lambda keys: floodmark.done.append("reset")
    floodmark._fail(batch_of(), "no", True)
    assert floodmark.done == ["reset", "failed"]

    def fail(raised: Exception) -> None:
        raise raised

    again = load(adapter=SimpleNamespace(floodmark_raise=fail))
    again._tried, again._reset_conf = floodmark._tried, floodmark._reset_conf
    with pytest.raises(ValueError, match="CHAR"):
        again._fence_failed(batch_of(is_taken_over=True))


@pytest.mark.parametrize(
    ("provider", "may_be_there"), [("delta", True), ("parquet", False), (None, False)]
)
def test_what_is_no_delta_table_has_no_batch(provider: str | None, may_be_there: bool) -> None:
    this = SimpleNamespace(
        schema="shop", identifier="orders", incorporate=lambda **kinds: SimpleNamespace(**kinds)
    )
    floodmark = load(
        this=this, run_query=lambda sql: SimpleNamespace(rows=[("shop", "orders", False)])
    )
    floodmark._describe = lambda relation: {"provider": provider, "columns": []}
    floodmark._tried = lambda macro, *_: SimpleNamespace(error="not a Delta table", value=None)
    assert floodmark._has_landed(batch_of()) is may_be_there


def test_the_mark_of_a_guarded_first_load_is_of_the_column_it_was_planned_with() -> None:
    asked: list[str] = []

    def query(sql: str) -> SimpleNamespace:
        asked.append(sql)
        return SimpleNamespace(rows=[("7",)])

    floodmark = load(run_query=query)
    floodmark._columns_of = lambda relation: [{"name": "n"}, {"name": "m"}]
    run = {"settings": {"strategy": "append", "watermark": {"column": "m"}}}
    batch = batch_of(kind="first_load", high=None, watermark_column="n", family="sequence")
    batch |= {"cap": "99", "staged_by": None}
    assert floodmark._mark_after(run, batch) == "7"
    assert "max(`n`)" in asked[0] and asked[0].endswith(" where `n` <= 99")


def test_a_first_load_without_a_guard_that_found_nothing_due_has_no_mark() -> None:
    """Its table may have rows of another part of the SELECT."""
    floodmark = load(run_query=lambda sql: pytest.fail("the table's rows say nothing of the mark"))
    run = {"settings": {"strategy": "merge", "watermark": {"column": "n"}}}
    batch = batch_of(kind="first_load", high=None, watermark_column="n", family="sequence")
    assert floodmark._mark_after(run, batch | {"cap": None, "staged_by": None}) is None


@pytest.mark.parametrize(("guarded", "cap"), [(True, 10**38 - 1), (False, None)])
def test_a_guarded_first_load_of_numbers_has_a_cap(guarded: bool, cap: int | None) -> None:
    """By it a later run knows that the mark is in the rows."""
    floodmark = load()
    floodmark._query_json = lambda sql: [
        {"first": None, "last": None, "rows": 0, "rows_null": 0, "rows_future": 0}
    ]
    watermark = SimpleNamespace(column="n", sql=None, nulls="error")
    reach = {"start": None, "step": None, "lookback": 0}
    run = {
        "settings": {"watermark": watermark}, "guarded": guarded,
        "upstream": {"family": "sequence", "relation": "shop.raw", "column": "n"},
    }  # fmt: skip
    plan = floodmark._plan_watermark(run, None, None, reach)
    assert (plan["cap"], plan["cap_position"]) == (None if cap is None else str(cap), cap)
    assert plan["high"] is None
