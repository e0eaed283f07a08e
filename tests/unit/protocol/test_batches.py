"""What a batch does around its statements: the fence, and what a refused statement leaves; without Spark."""

from __future__ import annotations

import hashlib
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load


@pytest.fixture
def floodmark() -> SimpleNamespace:
    """The macros, with `sent` for the statements that they would send."""
    sent: list[str] = []
    loaded = load(invocation_id="11111111-2222", run_query=lambda sql: sent.append(sql))
    loaded.sent = sent
    loaded._execute = sent.extend
    loaded._committed_version = lambda: 7
    loaded._forget_commit = lambda: None
    return loaded


def batch_of(**more: Any) -> dict[str, Any]:
    settings = {"strategy": "append", "unique_key": []}
    return {"batch_id": 3, "generation": "g", "settings": settings, **more}


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"watermark_column": "ts"},
        {"settings": {"strategy": "merge"}},
        # As `floodmark reset` gives a batch up, half of which may be committed.
        {"settings": {"strategy": "cdc"}, "staged_by": "0a0b0c0d"},
    ],
)
def test_a_fence_names_no_column(floodmark: SimpleNamespace, more: dict[str, Any]) -> None:
    """The table may have columns that nobody may write (identity), or that everybody must (NOT NULL)."""
    batch = batch_of(**more)
    floodmark._fence(batch, "shop.orders")
    (statement,) = [sql for sql in floodmark.sent if not sql.startswith(("set ", "reset "))]
    assert statement == (
        "merge into shop.orders as DBT_INTERNAL_DEST using (select 1 as one where false)"
        " as DBT_INTERNAL_SOURCE on false when matched then delete"
    )
    assert any(
        "userMetadata = floodmark/shop.orders/g/3/fence/1111" in sql for sql in floodmark.sent
    )
    # It is not the batch's own commit.
    assert batch["applied"] is None


@pytest.mark.parametrize(
    "statement",
    [
        "create or replace table shop.orders as s",
        "insert into shop.orders (`id`)\nselect `id` from (s)",
        "insert into shop.orders by name replace where true select 1 as id",
    ],
)
def test_a_statement_runs_under_its_transaction(floodmark: SimpleNamespace, statement: str) -> None:
    """Not within an INSERT: one that reads its own table would lose it (decision 4)."""
    floodmark._apply_once("shop.orders", batch_of(), statement)
    conf = {
        "spark.databricks.delta.write.txnAppId": "floodmark/shop.orders/g",
        "spark.databricks.delta.write.txnVersion": "3",
        "spark.databricks.delta.commitInfo.userMetadata": "floodmark/shop.orders/g/3",
    }
    assert floodmark.sent == [
        *(f"set {key} = {value}" for key, value in conf.items()),
        statement,
        *(f"reset {key}" for key in conf),
    ]


def refused(floodmark: SimpleNamespace, batch: dict[str, Any]) -> list[str]:
    """The errors that a batch is failed with, once a statement behind it was refused."""
    failed: list[str] = []
    floodmark._has_landed = lambda batch: False
    floodmark._fail = lambda batch, error, may_pass: failed.append(error)
    run = {"settings": batch["settings"], "state": {}}
    floodmark._note_refused("no", run, batch)
    return failed


def test_a_stream_is_told_that_it_reads_refused_rows_again(floodmark: SimpleNamespace) -> None:
    floodmark._has_landed = lambda batch: False
    floodmark._fail = lambda batch, error, may_pass: None
    floodmark._unreadable_changes = floodmark._lies_elsewhere = lambda *given: None
    floodmark._obsolete_constraints = lambda error: None

    def told(error: str, kind: str) -> str:
        batch = batch_of(kind=kind)
        run = {"settings": batch["settings"], "state": {}}
        return str(floodmark._note_refused(error, run, batch) or "")

    refused = "[DELTA_VIOLATE_CONSTRAINT_WITH_VALUES] CHECK constraint positive (n > 0)"
    assert "even if you correct them upstream: change the constraint, " in told(refused, "stream")
    assert told(refused, "incremental") == told("executor 3 lost", "stream") == ""


def test_a_committed_batch_is_not_failed_behind_its_commit(floodmark: SimpleNamespace) -> None:
    """One that changes nothing in the target has no commit there, and the mark must not go back."""
    assert refused(floodmark, batch_of()) == ["no"]
    assert refused(floodmark, batch_of(is_failed=True)) == []

    batch = batch_of(kind="incremental", replaces=False, high="9", staged_by=None)
    floodmark._needs_stage = lambda run: True
    floodmark._mark_after = lambda run, batch: "9"
    floodmark._record = lambda *given: None
    floodmark._stage_relation = lambda batch: "stage"

    def refuse(statements: list[str]) -> None:
        raise RuntimeError(statements)

    floodmark._execute = refuse
    run = {"settings": batch["settings"], "state": {"committed": None}, "target": {"id": "t"}}
    with pytest.raises(RuntimeError, match="drop table if exists stage"):
        floodmark._finish(run, batch, {"version": None, "metrics": {}}, None)
    floodmark._execute = floodmark.sent.extend
    assert refused(floodmark, batch) == []


def test_a_refused_statement_leaves_the_sessions_time_zone(floodmark: SimpleNamespace) -> None:
    refused(floodmark, batch_of(writes_utc="Asia/Tokyo"))
    assert "set spark.sql.session.timeZone = Asia/Tokyo" in floodmark.sent
    floodmark.sent.clear()
    refused(floodmark, batch_of(writes_utc=None))
    assert not [sql for sql in floodmark.sent if "timeZone" in sql]


def knowing(**more: Any) -> SimpleNamespace:
    """Macros of one invocation, with what it asked: `asked`."""
    asked: list[str] = []
    floodmark = load(graph={}, invocation_id="now", **more)
    floodmark.asked = asked
    return floodmark


def test_models_of_one_table_look_at_it_once_a_commit() -> None:
    floodmark = knowing()
    orders = SimpleNamespace(schema="shop", identifier="Orders")
    first, second = {"version": 1, "at": "08:00"}, {"version": 2, "at": "09:00"}
    floodmark._known_at(orders, first)["id"] = "a"
    assert floodmark._known_at(orders, dict(first)) == {"id": "a"}
    assert floodmark._known_at(SimpleNamespace(schema="SHOP", identifier="orders"), first)["id"]
    for other in (second, {"version": 1, "at": "09:00"}, None):
        assert floodmark._known_at(orders, other) == {}
    floodmark._known_at(orders, None)["id"] = "b"
    assert floodmark._known_at(orders, None) == {}


EMPTY = {"last_batch_id": None, "finished_id": None, "landed": None}
LOADED = {"last_batch_id": 4, "finished_id": 4, "landed": {"batch_id": 4}}


@pytest.mark.parametrize(
    ("state", "is_good"),
    [
        (EMPTY, True),
        (LOADED, True),
        (LOADED | {"last_batch_id": 5}, False),  # open
        (LOADED | {"landed": None}, False),  # nothing of it is in the table
        ({"last_batch_id": 1, "finished_id": 1, "landed": None}, False),
        (None, False),
    ],
)
def test_what_an_invocation_found_is_good_where_nothing_is_open(state: Any, is_good: bool) -> None:
    floodmark = knowing(this=SimpleNamespace(schema="shop", identifier="orders"))
    if state:
        floodmark._memory()["states"]["shop.orders"] = state
    assert floodmark._remembered_state() == (state | {"is_remembered": True} if is_good else None)
    floodmark._memory()["invocation_id"] = "before"
    assert floodmark._remembered_state() is None


def test_one_list_of_stages_serves_the_models_that_have_none_open() -> None:
    this = SimpleNamespace(schema="shop", identifier="orders")
    floodmark = knowing(this=this)
    lists = {"stage__": ["stage__shop__orders__3__0123abcd", "stage__shop__other__9__0123abcd"]}

    def names(prefix: str) -> list[str]:
        floodmark.asked.append(prefix)
        return lists.get(prefix, ["stage__shop__orders__4__4567cdef"])

    floodmark._stage_names = names
    floodmark.ledger_schema = lambda: "ledger"
    for _ in range(2):
        assert [stage["batch_id"] for stage in floodmark._stages(this, True)] == [3]
    assert [stage["batch_id"] for stage in floodmark._stages(this)] == [4]
    assert floodmark.asked == ["stage__", "stage__shop__orders__"]


def stage_prefix(schema: str, alias: str) -> str:
    floodmark = load(local_md5=lambda text: hashlib.md5(text.encode()).hexdigest())
    return floodmark._stage_prefix(SimpleNamespace(schema=schema, identifier=alias))


def test_stages_of_a_long_name_fit_into_a_folders_name() -> None:
    """Those of shorter names are called as they were."""
    assert stage_prefix("Shop", "Orders") == "stage__shop__orders__"
    assert stage_prefix("shop", "a" * 194) == f"stage__shop__{'a' * 194}__"
    ends = ["1234567890__0123abcd", "1234567890__0123abcd__4567cdef", "9__0123abcd__window123"]
    long = [stage_prefix("shop", "a" * 230 + end) for end in ("b", "c")]
    assert all(len(prefix + end) <= 255 for prefix in long for end in ends)
    assert long[0] != long[1]


def test_names_that_read_the_same_have_stages_of_their_own() -> None:
    first, second = stage_prefix("x", "b__c"), stage_prefix("x__b", "c")
    assert first[:-8] == second[:-8] == "stage__x__b__c__" and first != second


@pytest.mark.parametrize(
    ("tags", "number"),
    [
        ([], 1000),
        (["floodmark/shop.orders/g/3/fence/2222/900"], 1000),
        (["floodmark/shop.orders/g/3/fence/2222/1000"], 1001),
        (
            ["floodmark/shop.orders/g/3/fence/2222/4600", "floodmark/shop.orders/g/3/fence/9/7"],
            4601,
        ),
        # Another batch, another generation, the batch's own commit, a fence of before, somebody else's commit.
        (
            ["floodmark/shop.orders/g/13/fence/2222/4600", "floodmark/shop.orders/h/3/fence/2/46"],
            1000,
        ),
        (
            [
                "floodmark/shop.orders/g/3/by/2222/4600",
                "floodmark/shop.orders/g/3/fence/2222",
                None,
            ],
            1000,
        ),
    ],
)
def test_an_attempt_comes_after_all_before_it_though_the_clock_was_set_back(
    tags: list[str | None], number: int
) -> None:
    floodmark = load()
    floodmark._now = lambda: 1000 * 10**6
    floodmark._recent_tags = {"table": tags, "state": []}.__getitem__
    batch = batch_of(model="shop.orders")
    assert floodmark._next_attempt(batch, ["state", "table"]) == number


def test_the_fence_of_a_numbered_attempt_names_it() -> None:
    floodmark = load(invocation_id="11111111-2222")
    assert (
        floodmark._fence_tag(batch_of(model="m", attempt=7))
        == "floodmark/m/g/3/fence/11111111-2222/7"
    )
    assert floodmark._fence_tag(batch_of(model="m")) == "floodmark/m/g/3/fence/11111111-2222"


@pytest.mark.parametrize(
    ("version", "writer", "judged_by", "stops"),
    [
        # This run's insert was committed: nobody asks who made the commit.
        (7, None, None, False),
        # Delta skipped it: a run that read the rows at another time has judged them, or this one has them of it.
        (None, "22222222", None, True),
        (None, "22222222", "22222222", False),
        (None, "11111111", None, False),
        # An earlier floodmark named nobody.
        (None, None, None, False),
    ],
)
@pytest.mark.parametrize("rules", [[], [{"kind": "row"}]])
def test_rows_that_another_run_has_judged_are_not_loaded_beside_its_quarantine(
    floodmark: SimpleNamespace,
    version: int | None,
    writer: str | None,
    judged_by: str | None,
    stops: bool,
    rules: list,
) -> None:
    tag = "floodmark/shop.orders/g/3"
    commit = {"version": 5, "tag": tag, "writer": writer, "operation": "WRITE", "counts": {}}
    floodmark._committed_version = lambda: version
    floodmark._history = lambda table, limit: [commit | {"peak": None, "counted": None}]
    floodmark._quarantine_relation = lambda relation: "quarantine"
    floodmark._storable = lambda columns: columns
    floodmark._make_quarantine = lambda quarantine, columns: []
    batch = batch_of(rules=rules, judged_by=judged_by, kind="incremental")
    given = (batch, [], [{"sql": "rows", "names": []}])
    if stops and rules:
        with pytest.raises(Refused, match=r"checked the rows of batch 3 meanwhile: run again"):
            floodmark._quarantine(*given)
    else:
        floodmark._quarantine(*given)
    by = f"/by/{judged_by or '11111111'}" if rules else ""
    assert f"set spark.databricks.delta.commitInfo.userMetadata = {tag}{by}" in floodmark.sent


@pytest.mark.parametrize(
    ("judges", "writer", "chosen"),
    [
        (["a", "b"], "b", "b"),
        (["a", "b"], None, "a"),
        # The one whose rows are in the quarantine is gone, so no other's may be loaded.
        (["a"], "b", None),
        ([], "b", None),
    ],
)
def test_who_takes_over_reads_what_the_quarantine_was_made_of(
    floodmark: SimpleNamespace, judges: list[str], writer: str | None, chosen: str | None
) -> None:
    floodmark._quarantine_relation = lambda relation: "quarantine"
    floodmark._has_quarantine = lambda quarantine: True
    floodmark._landed = lambda table, batch: {"version": 5, "writer": writer}
    assert floodmark._stored_judge({"batch_id": 3}, judges) == chosen


@pytest.mark.parametrize("is_own", [True, False])
def test_the_counts_of_the_commit_count(floodmark: SimpleNamespace, is_own: bool) -> None:
    """Two runs may say that they have committed a batch, and the ledger's view takes the greatest of each count."""
    told = {"rows_read": 2, "rows_tied": 0, "rows_dropped": 0, "rows_quarantined": 1}
    mine = told if is_own else told | {"rows_read": 3, "rows_quarantined": 0}
    results = [{"name": "positive", "violations": 0}]
    judged = {"rows_kept": 3, "rows_dropped": 0, "rows_quarantined": 0, "results": results}
    batch = batch_of(counted=mine, judged=judged)
    source = {"stage": "stage", "counts": {"rows_read": mine["rows_read"]}}
    floodmark._take_counts(batch, source, {"version": 5, "counted": told})
    counts = floodmark._batch_counts(
        batch | {"kind": "incremental"}, {}, source["counts"]["rows_read"], 0
    )
    if not is_own:
        assert (counts["rows_kept"], counts["rows_quarantined"], counts["rows_read"]) == (2, 1, 3)
    assert batch["judged"]["results"] == (results if is_own else None)


@pytest.mark.parametrize(
    ("asked", "recorded"), [(None, "null"), ({"backfill": {"from": "1"}}, "current_user()")]
)
def test_the_ledger_tells_who_asked_for_a_batch(
    floodmark: SimpleNamespace, asked: dict[str, Any] | None, recorded: str
) -> None:
    told: list[str] = []
    floodmark._waiting_events = lambda model: {}
    floodmark._planned_rules = lambda rules, node: []
    floodmark._record = lambda event, plan, values, others: told.append(values["recorded_by"])
    floodmark._forget_commit = lambda: None
    floodmark._is_recorded = lambda event, plan: True
    plan = floodmark._plan_whole() | {"kind": "backfill", "batch_id": 4, "asked": asked}
    floodmark._record_plan({"settings": {}, "state": {}}, plan)
    assert told == [recorded]
