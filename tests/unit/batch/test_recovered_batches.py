"""What a run makes of a batch that an earlier one left open; without Spark."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load

OURS = "floodmark/shop.orders/g/"


def commit(version: int, operation: str, tag: str | None = None) -> dict[str, Any]:
    return {"version": version, "operation": operation, "tag": tag, "restored": None}


@pytest.fixture
def floodmark() -> SimpleNamespace:
    """The macros, over a table with the commits `history`; `recorded` has the events, `done` what else was called."""
    loaded = load(
        run_query=lambda sql: SimpleNamespace(rows=[(1,)] if loaded.is_open else []),
        load_cached_relation=lambda relation: None,
    )
    loaded.history, loaded.recorded, loaded.done, loaded.is_open = [], [], [], True
    loaded._history = lambda relation, limit=None: loaded.history[:limit]
    loaded._record = lambda event, batch, values: loaded.recorded.append((event, values))
    loaded._ways_out = lambda **_: "the ways out"
    loaded._finish = lambda run, batch, landed, source: run["target"].update({"is_empty": False})
    loaded._note_violations = lambda run, batch: None
    return loaded


def run_of(strategy: str = "append", **more: Any) -> dict[str, Any]:
    run = {"settings": {"strategy": strategy, "watermark": {"column": "n"}, "files": None}}
    target = {"is_empty": True, "is_delta": True, "exists": True, "id": "t"}
    return run | {"target": target, "full_refresh": False, "state": {"committed": None}} | more


def batch_of(kind: str = "first_load", **more: Any) -> dict[str, Any]:
    return {"batch_id": 1, "kind": kind, "high": "9", "settings": {"strategy": "append"}} | more


LANDED = {"version": 1, "operation": "CREATE TABLE AS SELECT", "writer": None}
CREATED = commit(1, "CREATE TABLE AS SELECT", OURS + "1")


@pytest.mark.parametrize("kind", ["first_load", "full_refresh", "incremental"])
@pytest.mark.parametrize(
    ("behind", "begins"),
    [([], False), ([commit(2, "DELETE")], True), ([commit(2, "OPTIMIZE")], False)],
)
def test_a_table_that_was_emptied_behind_its_batch_is_loaded_anew(
    floodmark: SimpleNamespace, kind: str, behind: list, begins: bool
) -> None:
    """One that the batch itself left empty is not."""
    floodmark.history = [*behind, CREATED]
    run = run_of()
    floodmark._finish_landed(run, batch_of(kind), LANDED)
    assert run["target"]["is_empty"] is begins


@pytest.mark.parametrize(
    ("last", "stops"),
    [
        (commit(2, "CREATE OR REPLACE TABLE AS SELECT"), True),
        (commit(2, "CLONE"), True),
        (commit(2, "CREATE OR REPLACE TABLE AS SELECT", OURS + "2"), False),
        (commit(2, "MERGE"), False),
    ],
)
def test_a_table_that_somebody_replaced_behind_its_batch_stops_the_run(
    floodmark: SimpleNamespace, last: dict[str, Any], stops: bool
) -> None:
    floodmark.history = [last, CREATED]
    run = run_of()
    run["target"]["is_empty"] = False
    if stops:
        with pytest.raises(Refused, match=r"is not the table that batch 1 left .*: the ways out"):
            floodmark._finish_landed(run, batch_of(), LANDED)
    else:
        floodmark._finish_landed(run, batch_of(), LANDED)


def recovered(
    floodmark: SimpleNamespace, strategy: str, batch: dict[str, Any], **settings: Any
) -> None:
    """Recover a batch that has landed in a run with --full-refresh."""
    floodmark._stored_batch = lambda run, planned: batch
    floodmark._stored_rules = lambda batch_id: []
    floodmark._landed = lambda table, batch: LANDED
    floodmark._finish_landed = lambda run, batch, landed: floodmark.done.append("finished")
    floodmark._has_state = lambda: False
    floodmark._state_relation = lambda: "state"
    run = run_of(strategy, full_refresh=True)
    run["settings"] |= settings
    run["state"]["committed"] = {"mark": "20", "family": "sequence"}
    floodmark._recover(run, batch)
    if not floodmark.done:
        assert run["state"]["finished_id"] == 1


@pytest.mark.parametrize("strategy", ["append", "cdc", "snapshot_diff"])
def test_a_full_refresh_leaves_a_batch_that_landed_as_it_is(
    floodmark: SimpleNamespace, strategy: str
) -> None:
    """Today's strategy may be another than the batch's, or have lost what it would need."""
    floodmark.history = [CREATED]
    recovered(floodmark, strategy, batch_of())
    ((event, values),) = floodmark.recorded
    assert (event, values["mark"], values["target_version"]) == ("committed", "'9'", 1)
    assert values["target_id"] == "'t'"
    assert not floodmark.done


GUARDED = {"high": None, "cap": "99", "watermark_column": "n", "family": "sequence"}
SNAPSHOT = {"watermark": None, "snapshot": {"version": "v"}}


@pytest.mark.parametrize(
    ("strategy", "settings", "batch", "stage", "mark", "family"),
    [
        ("append", {}, batch_of(staged_by=None, **GUARDED), None, "'1'", "sequence"),
        ("snapshot_diff", SNAPSHOT, batch_of("incremental", high=None, staged_by="ours"),
         "_floodmark_version", "'1'", "sequence"),
        # Its stage is gone, or of another strategy.
        ("snapshot_diff", SNAPSHOT, batch_of("incremental", high=None, staged_by=None),
         None, "'20'", "sequence"),
        ("snapshot_diff", SNAPSHOT, batch_of("incremental", high=None, staged_by="ours"),
         "v", "'20'", "sequence"),
        # Today it has no watermark.
        ("append", {"watermark": None}, batch_of(family="date"), None, "'9'", "date"),
    ],
)  # fmt: skip
def test_a_full_refresh_keeps_the_mark_that_its_plan_does_not_know(
    floodmark: SimpleNamespace,
    strategy: str,
    settings: dict[str, Any],
    batch: dict[str, Any],
    stage: str | None,
    mark: str,
    family: str,
) -> None:
    """Should it fail, the next run goes on from there."""
    floodmark.history = [CREATED]
    floodmark._stage_relation = lambda batch: "stage"
    floodmark._columns_of = lambda relation: [
        {"name": stage if relation == "stage" else "n", "type": "int"}
    ]
    batch = dict(batch)
    recovered(floodmark, strategy, batch, **settings)
    ((event, values),) = floodmark.recorded
    assert (event, values["mark"], batch["family"]) == ("committed", mark, family)


def test_files_of_such_a_batch_are_loaded_and_a_backfill_leaves_the_mark(
    floodmark: SimpleNamespace,
) -> None:
    """The next run goes on from there, should the full refresh fail."""
    floodmark.history = [CREATED]
    recovered(floodmark, "append", batch_of(files=[{"path": "a.csv"}]))
    assert "a.csv" in floodmark.recorded[0][1]["files"]
    recovered(floodmark, "append", batch_of("backfill"))
    assert floodmark.recorded[1][1]["mark"] == "'20'"


def test_a_batch_whose_table_is_another_is_failed(floodmark: SimpleNamespace) -> None:
    """The ledger must not take the new table for the one that the batch left."""
    floodmark.history = [commit(2, "CREATE OR REPLACE TABLE"), CREATED]
    recovered(floodmark, "append", batch_of())
    ((event, _),) = floodmark.recorded
    assert event == "failed"


@pytest.mark.parametrize(
    ("kind", "part", "whole", "is_finished"),
    [
        ("replay", "rows", "judged", True),
        ("replay", "rows", "files", False),
        ("replay", "records", "files", True),
        ("replay", "records", "judged", False),
        ("stream", None, None, True),
    ],
)
def test_replays_and_streams_are_finished(
    floodmark: SimpleNamespace, kind: str, part: str | None, whole: str | None, is_finished: bool
) -> None:
    """Not a replay whose staging table is gone: no run can, whatever other table it has left."""
    floodmark.history = [CREATED]
    floodmark._judged_relation = lambda batch: "judged"
    floodmark._records_stage = lambda batch: "files"
    floodmark._is_stage_whole = lambda stage: stage == whole
    floodmark._judged_columns = lambda relation: []
    recovered(floodmark, "append", batch_of(kind, judged_by="a", asked={"part": part}))
    assert floodmark.done == (["finished"] if is_finished else [])
    assert [event for event, _ in floodmark.recorded] == ([] if is_finished else ["committed"])


@pytest.mark.parametrize(
    ("operation", "has_state", "written", "drops"),
    [
        ("CREATE TABLE AS SELECT", True, None, True),
        ("CREATE TABLE AS SELECT", True, LANDED, False),
        ("CREATE TABLE AS SELECT", False, None, False),
        ("MERGE", True, None, False),
    ],
)
def test_what_an_older_table_left_beside_one_of_cdc_goes(
    floodmark: SimpleNamespace, operation: str, has_state: bool, written: Any, drops: bool
) -> None:
    floodmark._has_state = lambda: has_state
    floodmark._state_relation = lambda: "state"
    floodmark._landed = lambda table, batch: written
    floodmark._execute = floodmark.done.extend
    floodmark._leave_half(batch_of(), LANDED | {"operation": operation})
    assert floodmark.done == (["drop table if exists state"] if drops else [])


@pytest.mark.parametrize(
    ("strategy", "planned", "read"),
    [("merge", 1, 1), ("merge", 0, 0), ("merge", None, 0), ("append", 1, 0)],
)
def test_a_batch_keeps_the_lookback_of_its_plan(
    floodmark: SimpleNamespace, strategy: str, planned: int | None, read: int
) -> None:
    """Recorded with a longer one of today, what lies further below would be taken for read. append would add it twice."""
    floodmark._stored_judge = lambda planned, judges: None
    run = run_of(strategy, stages=[])
    run["settings"]["watermark"] = {"column": "n", "lookback": 5, "nulls": "error"}
    stored = batch_of("incremental", family="sequence", low="4", cap=None, lookback=planned)
    assert floodmark._stored_batch(run, stored)["lookback"] == read


@pytest.mark.parametrize(("planned", "is_last"), [(True, True), (False, False), (None, False)])
def test_a_batch_is_the_last_one_as_its_plan_says(
    floodmark: SimpleNamespace, planned: bool | None, is_last: bool
) -> None:
    """Rules ask how old the last one is. The next run looks for more all the same."""
    floodmark._stored_judge = lambda planned, judges: None
    run = run_of("merge", stages=[])
    run["settings"]["watermark"] = {"column": "n", "nulls": "error"}
    stored = batch_of("incremental", family="sequence", low="4", cap=None, is_last=planned)
    batch = floodmark._stored_batch(run, stored)
    assert (batch["is_last"], batch["is_held"]) == (is_last, True)


FENCE = OURS + "2/fence/1111-2222"


@pytest.mark.parametrize(
    ("of_table", "of_quarantine", "is_given_up"),
    [
        (None, None, False),
        (FENCE, None, True),
        (OURS + "2", FENCE, True),
        # Of another batch; and cdc's, whose next attempt has a number of its own.
        (OURS + "1/fence/1111-2222", OURS + "12/fence/1111-2222", False),
        (FENCE + "/1700000000", OURS + "2", False),
    ],
)
@pytest.mark.parametrize("kind", ["incremental", "stream"])
def test_a_batch_whose_id_is_used_up_is_planned_anew(
    floodmark: SimpleNamespace, kind: str, of_table: Any, of_quarantine: Any, is_given_up: bool
) -> None:
    """The run that gave it up died before it said so, and Delta would skip what is sent again."""
    floodmark._history = lambda relation, limit=None: [
        commit(5, "MERGE", of_quarantine if relation == "quarantine" else of_table)
    ]
    floodmark._quarantine_relation = lambda relation: "quarantine"
    floodmark._has_quarantine = lambda quarantine: True
    floodmark._model_id = lambda: "shop.orders"
    floodmark._stored_batch = lambda run, planned: planned
    floodmark._stored_rules = lambda batch_id: ["a rule"]
    floodmark._landed = lambda table, batch: None
    for name in ("_try_fence", "_take_back_quarantined", "_load_batch"):
        setattr(floodmark, name, lambda *_, _name=name, **__: floodmark.done.append(_name))
    batch = batch_of(kind, batch_id=2, generation="g", files=None, family="sequence")
    run = run_of(upstream=None)
    run["target"]["is_empty"] = False
    floodmark._recover(run, batch)
    if is_given_up:
        assert floodmark.done == ["_try_fence", "_take_back_quarantined"]
        ((event, values),) = floodmark.recorded
        assert (event, "an earlier run gave the batch up" in values["error"]) == ("failed", True)
        assert run["state"]["finished_id"] == 2
    else:
        assert (floodmark.done, floodmark.recorded) == (["_load_batch"], [])


@pytest.mark.parametrize("is_given_up", [True, False])
def test_a_micro_batch_that_was_given_up_is_planned_anew_at_once(
    floodmark: SimpleNamespace, is_given_up: bool
) -> None:
    """Spark takes it for written when the macro has ended, and would not send it again."""
    committed = {"generation": "g", "mark": "7"}
    planned = {"batch_id": 3, "generation": "g", "high": "8"}
    state = {"last_batch_id": 3, "finished_id": 2, "planned": planned, "committed": committed}

    def recover(run: dict[str, Any], batch: dict[str, Any]) -> dict[str, Any] | None:
        run["state"]["finished_id"] = 3
        if is_given_up:
            return None
        run["state"]["committed"] = committed | {"mark": "8"}
        return {"rows_read": 1}

    floodmark._stored_batch = lambda run, planned: {"staged_by": None, "judged_by": None}
    floodmark._landed = lambda table, batch: None
    floodmark._recover = recover
    floodmark._plan_whole = dict
    floodmark._record_plan = lambda run, batch: floodmark.recorded.append(
        (batch["batch_id"], batch["low"], batch["high"])
    )
    floodmark._load_batch = lambda run, batch: {"rows_read": 1}
    dropped: list[Any] = []
    floodmark._stages = lambda relation: ["left"]
    floodmark._drop_left_stages = lambda stages, batch_id: dropped.append((stages, batch_id))
    run = run_of(state=state, generation="g", total={"batches": 0})
    floodmark._apply_micro_batch(run, 8)
    assert dropped == ([(["left"], 3)] if is_given_up else [])
    assert floodmark.recorded == ([(4, "7", "8")] if is_given_up else [])
    assert run["total"]["batches"] == 1


@pytest.mark.parametrize(
    ("kind", "more", "mark"),
    [("incremental", {}, "'9'"), ("backfill", {}, "'20'"), ("first_load", GUARDED, "'1'")],
)
def test_a_reset_that_gives_up_a_batch_in_the_table(
    floodmark: SimpleNamespace, kind: str, more: dict[str, Any], mark: str
) -> None:
    """A backfill lies below the mark, which stays; behind a guard the table's rows tell it."""
    floodmark._columns_of = lambda relation: [{"name": "n", "type": "int"}]
    floodmark._landed = lambda table, batch: LANDED
    floodmark._has_quarantine = lambda quarantine: False
    floodmark._quarantine_relation = lambda relation: "quarantine"
    floodmark._stages = lambda relation: []
    floodmark._drop_left_stages = lambda stages, batch_id: None
    floodmark._give_up(
        "shop.orders", SimpleNamespace(is_delta=True), batch_of(kind, **more), {"mark": "20"}
    )
    ((event, values),) = floodmark.recorded
    assert (event, values["mark"]) == ("committed", mark)


@pytest.mark.parametrize(
    ("strategy", "more", "superseded"),
    [
        ("append", {"kind": "full_refresh"}, ""),
        ("merge", {"kind": "first_load", "family": "version"}, ""),
        ("append", {"kind": "backfill", "low": "10"}, " and (`n` > 10 and `n` <= 20)"),
        ("insert_overwrite", {"kind": "backfill", "low": "10"}, " and (`n` > 10 and `n` <= 20)"),
        ("merge", {"kind": "backfill", "low": "10"}, " and (`n` > 10 and `n` <= 20)"),
        # Of a column that the SELECT changes nobody can tell.
        ("merge", {"kind": "backfill", "low": "10", "sql": "select n + 1 as n from t"}, None),
        ("merge", {"kind": "incremental", "low": "10"}, None),
        ("append", {"kind": "incremental", "low": "10", "family": "version"}, None),
        # These a run alone can tell.
        ("merge", {"kind": "incremental", "low": "10", "family": "version"}, "run the model first"),
        ("insert_overwrite", {"kind": "incremental", "low": "10"}, "run the model first"),
        ("cdc", {"kind": "backfill", "low": None}, "run the model first"),
    ],
)
@pytest.mark.parametrize(("is_whole", "is_open"), [(True, True), (False, True), (True, False)])
def test_a_reset_supersedes_what_came_again_with_such_a_batch(
    floodmark: SimpleNamespace,
    strategy: str,
    more: dict[str, Any],
    superseded: str | None,
    is_whole: bool,
    is_open: bool,
) -> None:
    """Or stops, where a run can still tell what that is."""
    floodmark._quarantine_relation = lambda relation: "quarantine"
    floodmark._has_quarantine = lambda quarantine: True
    floodmark._columns_of = lambda relation: [{"name": "n", "type": "bigint"}]
    floodmark._stages = lambda relation: [{"batch_id": 2, "relation": "stage"}]
    floodmark._is_stage_whole = lambda stage: is_whole
    floodmark._execute = floodmark.done.extend
    settings = {"strategy": strategy, "partition_by": ["day"], "unique_key": ["id"]}
    batch = {"batch_id": 2, "settings": settings, "family": "sequence", "high": "20", "low": None}
    batch |= {"watermark_column": "n", "nulls": None} | more
    floodmark.is_open = is_open
    sql = batch.pop("sql", "select n from t")
    if superseded == "run the model first" and is_whole and is_open:
        with pytest.raises(Refused, match=r"batch 2 is unfinished, .*: run the model first"):
            floodmark._supersede_given_up("shop.orders", "shop.orders", batch, sql)
    else:
        floodmark._supersede_given_up("shop.orders", "shop.orders", batch, sql)
    wanted = "update quarantine set _floodmark_state = 'superseded' where _floodmark_state = 'open'"
    found = [sql.removeprefix(wanted + " and _floodmark_batch_id < 2") for sql in floodmark.done]
    assert found == ([superseded] if superseded in ("", " and (`n` > 10 and `n` <= 20)") else [])


@pytest.mark.parametrize(("kind", "supersedes"), [("full_refresh", True), ("incremental", False)])
def test_a_full_refresh_supersedes_what_came_again_with_the_batch_before_it(
    floodmark: SimpleNamespace, kind: str, supersedes: bool
) -> None:
    """It may fail, and nobody asks of that batch again. What is impossible by now stays out."""
    floodmark.history = [CREATED]
    floodmark._quarantine_relation = lambda relation: "quarantine"
    floodmark._has_quarantine = lambda quarantine: True
    floodmark._judged_relation = lambda batch: "judged"
    floodmark._is_stage_whole = lambda stage: True
    floodmark._judged_columns = lambda stage: [{"name": "n", "type": "bigint"}]
    floodmark._execute = floodmark.done.extend
    batch = batch_of(kind, judged_by="dead", begins=False, files=None) | {"batch_id": 2}
    floodmark._leave_landed(run_of(state={"committed": {"mark": "20"}}), batch, LANDED)
    found = [sql.rpartition(" and ")[2] for sql in floodmark.done]
    assert found == (["true"] if supersedes else [])
    assert [event for event, _ in floodmark.recorded] == ["committed"]


@pytest.mark.parametrize("made_by", ["merge", "append", None])
def test_a_stage_is_for_the_strategy_that_made_it(made_by: str | None) -> None:
    """One of code that noted none is for any; a column may be called as the note is."""
    described = [("Comment", "string"), ("Statistics", "10 bytes"), ("Location", "file:/s")]
    floodmark = load(
        run_query=lambda sql: SimpleNamespace(rows=described), invocation_id="11111111-2222"
    )
    floodmark._stage_relation = floodmark._judged_relation = lambda batch: "stage"
    floodmark._listed_bytes = lambda location: 10
    floodmark._tried = lambda macro, *args: SimpleNamespace(value=macro(*args))
    floodmark._schema_changes = lambda columns, known: dict.fromkeys(
        ("new", "fields", "gone", "retyped")
    )
    floodmark._judged_columns = floodmark._columns_of = lambda relation: []
    floodmark._select_columns = lambda run, sql: []
    floodmark._is_quarantined = lambda batch: False
    made = floodmark._create_stage_sql("stage", made_by)
    described += [("Comment", note) for note in re.findall("comment '(.*?)'", made)]
    assert len(described) == (4 if made_by else 3)
    batch = batch_of("incremental", is_taken_over=True, staged_by="dead", judged_by="dead")
    floodmark._leave_unfit_stage(run_of("merge"), batch, "select 1")
    floodmark._leave_unfit_judgement(run_of("merge"), batch, [])
    kept = None if made_by == "append" else "dead"
    assert (batch["staged_by"], batch["judged_by"]) == (kept, kept)
