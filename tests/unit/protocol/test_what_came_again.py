"""Which open rows of the quarantine a batch supersedes: the batch says so, whichever run finishes it. Without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load

COLUMNS = ["id", "at", "day"]
#: A SELECT that gives the watermark's column as it is, and one that gives it another value.
PLAIN = "select id, at, day from raw.orders"
CHANGED = "select id, date_trunc('day', at) as at, day from raw.orders"


def macros(columns: list[str] | None = None, **given: Any) -> SimpleNamespace:
    """The macros on a quarantine of these columns; without any there is none."""
    floodmark = load(**given)
    floodmark._has_quarantine = lambda quarantine: columns is not None
    floodmark._quarantine_relation = lambda relation: "shop.orders__quarantine"
    floodmark._columns_of = lambda relation: [
        {"name": name, "type": "bigint"} for name in columns or []
    ]
    floodmark._position_literal = lambda position, family: str(position)
    floodmark._are_loaded = lambda batch: True
    return floodmark


def run_of(strategy: str, **more: Any) -> dict[str, Any]:
    settings = {"strategy": strategy, "partition_by": ["day"], "unique_key": ["id"], "files": None}
    return {"settings": settings | more.pop("settings", {}), "sql": PLAIN, **more}


def batch_of(kind: str, **more: Any) -> dict[str, Any]:
    batch = {"batch_id": 3, "kind": kind, "begins": False, "family": "sequence", "files": None}
    bounds = {"low_position": 10, "high_position": 20, "watermark_column": "at", "nulls": "error"}
    return batch | bounds | more


@pytest.mark.parametrize("strategy", ["append", "merge", "cdc", "insert_overwrite"])
@pytest.mark.parametrize("rules", [[], [{"kind": "row"}]])
def test_a_backfill_supersedes_what_lies_in_its_bounds(strategy: str, rules: list) -> None:
    """Of insert_overwrite, too, which replaces no whole partition then."""
    batch = batch_of("backfill", rules=rules, asked={"backfill": {"from": "11", "to": "21"}})
    found = macros(COLUMNS)._came_again_sql(run_of(strategy), batch)
    assert found == "(`at` > 10 and `at` <= 20)"
    assert macros(["id"])._came_again_sql(run_of(strategy), batch) is None
    assert macros()._came_again_sql(run_of(strategy), batch) is None


@pytest.mark.parametrize("strategy", ["merge", "cdc", "append", "insert_overwrite"])
def test_a_column_that_the_select_changes_tells_no_range(strategy: str) -> None:
    """A row that the backfill did not read may look as if it lay in its range: all stay open, each once.

    Where a backfill deletes by the column, it has compared the values before.
    """
    floodmark, batch = macros(COLUMNS), batch_of("backfill", asked={"backfill": {}}, lookback=0)
    run = run_of(strategy, sql=CHANGED)
    tells = strategy in ("append", "insert_overwrite")
    rows = "(`at` > 10 and `at` <= 20)" if tells else None
    assert floodmark._came_again_sql(run, batch) == rows
    assert bool(floodmark._leaves_open(run, batch, [{"name": "at"}])) is not tells
    sent: list[str] = []
    floodmark._make_quarantine = lambda quarantine, columns: [{"name": "at", "type": "bigint"}]
    floodmark._row_hash_sql = lambda columns, rescued: "hash"
    floodmark._rescued_column = lambda settings: None
    floodmark._apply_once = lambda table, once, sql: sent.append(sql)
    floodmark._model_id = lambda: "shop.orders"
    part = {"sql": "rows", "names": []}
    batch |= {"generation": "g", "settings": run["settings"], "rules": []}
    for sql, is_told in ((PLAIN, True), (CHANGED, tells)):
        text = floodmark._text_of_range(run_of(strategy, sql=sql))
        floodmark._quarantine(batch, [], [part], is_again=True, sql=text)
        assert ("`at` > 10" in sent.pop()) is is_told


@pytest.mark.parametrize("asks", [None, {"from": "1"}])
def test_a_restatement_is_one_by_its_batch(asks: dict | None) -> None:
    """And not by the run: one that restates may finish another batch, and a plain one a restatement."""
    floodmark = macros(COLUMNS)
    floodmark._restated_open_sql = lambda run, batch: "loaded"
    run = run_of("cdc", restate=asks)
    restated = batch_of("backfill", asked={"restate": {"from": "1"}}, low_position=None)
    assert floodmark._came_again_sql(run, restated) == "loaded"
    assert floodmark._came_again_sql(run, batch_of("incremental", asked=None)) is None
    assert floodmark._came_again_sql(run, batch_of("incremental")) is None


@pytest.mark.parametrize("asked", [None, False, True])
def test_files_that_are_replaced_by_a_batch_that_a_dead_run_committed(asked: bool | None) -> None:
    """Nobody has asked of it whether its files were loaded before; of one that this run reads that is known."""
    run = run_of("append", settings={"files": {"allow_overwrites": "replace"}})
    batch = batch_of("incremental", files=[{"path": "a.json"}], replaces_files=asked)
    wanted = None if asked is False else "_floodmark_file in ('a.json')"
    assert macros(COLUMNS)._came_again_sql(run, batch) == wanted


def test_partitions_are_not_looked_for_where_the_quarantine_has_none() -> None:
    judged = {"columns": [{"name": "day"}]}
    read = {"judged_by": "me", "staged_by": None, "lookback": 0, "start_position": None}
    batch = batch_of("incremental", judged=judged, **read)
    rows = SimpleNamespace(columns=[SimpleNamespace(values=lambda: ["2024-05-01"])])
    given: dict[str, Any] = {"run_query": lambda sql: rows}
    # A day that came in another type than the quarantine has stands in the text of its row.
    text = "from_json(if(_floodmark_rules is null, null, _floodmark_raw), 'struct<day:string>')"
    found = f"coalesce(cast(`day` as string), {text}.`day`) in ('2024-05-01')"
    for columns, wanted in [
        # A row that a rule held back may lie in another partition than its time.
        (COLUMNS, f"({found} or (`at` > 10 and `at` <= 20))"),
        (["id", "DAY"], f"({found.replace('day:', 'DAY:').replace(').`day`', ').`DAY`')})"),
        (["id", "at"], None),
        (None, None),
    ]:
        floodmark = macros(columns, **given)
        floodmark._judged_relation = lambda batch: "judged"
        assert floodmark._came_again_sql(run_of("insert_overwrite"), batch) == wanted


@pytest.mark.parametrize(
    ("batch", "asked"),
    [
        # The first batch of a change feed may have several changes of a key, one of them held.
        (batch_of("first_load", batch_id=1, rules=[{"kind": "row"}]), ["changed"]),
        (batch_of("first_load", batch_id=1, rules=[]), []),
        (batch_of("first_load", batch_id=2), ["changed", "again"]),
    ],
)
def test_a_first_batch_supersedes_rows_of_its_own_alone(batch: dict, asked: list[str]) -> None:
    found: list[str] = []
    floodmark = macros(COLUMNS)
    floodmark._supersede_changed = lambda run, batch: found.append("changed")
    floodmark._came_again_sql = lambda run, batch: "true"
    floodmark._supersede = lambda quarantine, rows: found.append("again")
    floodmark._supersede_quarantined(run_of("merge"), batch)
    assert found == asked


@pytest.mark.parametrize(
    ("more", "has_stage"),
    [
        ({}, True),
        ({"is_taken_over": True, "staged_by": "dead"}, True),
        # Another run planned it, and this one has staged it.
        ({"is_taken_over": True, "counted": {"rows_read": 1}}, True),
        # Another run committed it, and left its event for later.
        ({"is_taken_over": True}, False),
    ],
)
def test_a_staging_table_that_is_gone_is_not_asked(more: dict[str, Any], has_stage: bool) -> None:
    """What the batch supersedes was superseded before its event waited."""
    sent: list[str] = []
    one = SimpleNamespace(rows=[(1,)], columns=[SimpleNamespace(values=lambda: ["2024-05-01"])])
    floodmark = macros(COLUMNS, run_query=lambda sql: one, invocation_id="11111111-2222")
    floodmark._execute = sent.extend
    floodmark._stage_relation = lambda batch: "stage"
    floodmark._is_stage_whole = lambda stage, strategy=None: (
        has_stage or pytest.fail("it is not there")
    )
    batch = batch_of("incremental", family="version", rules=[]) | {"staged_by": None} | more
    floodmark._supersede_changed(run_of("merge"), batch)
    assert len(sent) == has_stage
    found = floodmark._came_again_sql(run_of("insert_overwrite"), batch)
    assert (found is not None) == has_stage


@pytest.mark.parametrize(
    ("strategy", "more", "types", "is_sent"),
    [
        ("merge", {}, {}, True),
        # No row comes again, or none is held back.
        ("merge", {"lookback": 0}, {}, False),
        ("merge", {"rows_quarantined": 0}, {}, False),
        # The quarantine has another type, whose values tell nothing, or one that no join compares.
        ("merge", {}, {"at": "date"}, False),
        ("merge", {"type": "variant"}, {"at": "variant"}, False),
        # Each event counts.
        ("cdc", {}, {}, False),
    ],
)
def test_a_row_that_was_corrected_in_place_supersedes_its_earlier_reading(
    strategy: str, more: dict[str, Any], types: dict[str, str], is_sent: bool
) -> None:
    sent: list[str] = []
    floodmark = macros(COLUMNS)
    floodmark._execute = sent.extend
    floodmark._has_no_rows = lambda rows: False
    floodmark._judged_relation = lambda batch: "judged"
    given = {"id": "int", "at": more.get("type", "bigint"), "amount": "int"}
    came = [{"name": name, "type": type_, "ddl": type_} for name, type_ in given.items()]
    held = [dict(one, type=types.get(one["name"], one["type"])) for one in came]
    floodmark._columns_of = lambda relation: held
    rule = {"kind": "row", "name": "positive", "on_violation": "quarantine"}
    judged = {"columns": came, "path": None, "rows_quarantined": more.get("rows_quarantined", 1)}
    rules = [rule | {"message": None, "given": "amount > 0"}]
    settings = {"watermark": {"column": "AT", "kind": None}}
    run = run_of(strategy, settings=settings, partitions=[])
    batch = batch_of("incremental", judged=judged, rules=rules, settings=run["settings"])
    floodmark._supersede_readings(run, batch | {"lookback": more.get("lookback", 60)})
    assert len(sent) == is_sent
    if is_sent:
        text = " ".join(sent[0].split())
        assert "as h on o.`id` <=> h.`id` and o.`at` <=> h.`at` group by o._floodmark_id" in text
        assert (
            "_floodmark_rules is not null and _floodmark_batch_id < 3 and not (`id` is null) ) as o"
            in text
        )
        assert "from judged where ((_floodmark_broken_0 & 1L) <> 0)" in text


@pytest.mark.parametrize(
    ("kind", "settings", "supersedes"),
    [
        ("stream", {"output_mode": "update", "event_time": None}, True),
        # The later micro-batch may have the older row of a key.
        ("stream", {"output_mode": "update", "event_time": "at"}, False),
        ("stream", {"output_mode": "append", "event_time": None}, False),
    ],
)
def test_the_new_value_of_a_group_supersedes_its_earlier_ones(
    kind: str, settings: dict[str, Any], supersedes: bool
) -> None:
    sent: list[str] = []
    floodmark = macros(["id"], run_query=lambda sql: SimpleNamespace(rows=[(1,)]))
    floodmark._execute = sent.extend
    floodmark._judged_relation = lambda batch: "judged"
    floodmark._is_stage_whole = lambda stage, strategy=None: True
    batch = batch_of(kind, judged={"columns": [{"name": "id"}]})
    floodmark._supersede_changed(run_of("merge", settings=settings), batch)
    assert ["q._floodmark_batch_id < 3" in one for one in sent] == [True] * supersedes


@pytest.mark.parametrize("kind", ["backfill", "replay", "incremental"])
@pytest.mark.parametrize("rules", [[], [{"kind": "row"}]])
def test_what_recovery_gives_up_leaves_a_commit_before_it_settles(kind: str, rules: list) -> None:
    """Recovery looks for the commit: without one a backfill or a replay is given up."""
    floodmark = macros(COLUMNS)
    landed: list[str] = []

    class Reached(Exception):
        pass

    def stop(*args: Any) -> None:
        raise Reached

    floodmark._land_without_rows = lambda batch: landed.append("commit")
    floodmark._stage_relation = stop
    with pytest.raises(Reached):
        floodmark._finish(
            run_of("merge"), batch_of(kind, rules=rules), {"version": None, "metrics": {}}, None
        )
    assert landed == (["commit"] if kind == "replay" or (kind == "backfill" and rules) else [])


@pytest.mark.parametrize(
    ("columns", "kind", "asked", "leaves"),
    [
        (["id", "at"], "backfill", {"backfill": {}}, False),
        (["id"], "backfill", {"backfill": {}}, True),
        (["id"], "backfill", {"restate": {"from": "1"}}, True),
        (["id"], "incremental", None, False),
        (["id"], "replay", {"replay": {}}, False),
    ],
)
def test_a_backfill_leaves_open_what_it_cannot_place(
    columns: list[str], kind: str, asked: dict | None, leaves: bool
) -> None:
    run = run_of("merge", settings={"watermark": {"column": "at"}})
    batch = batch_of(kind, asked=asked, lookback=0)
    found = macros(COLUMNS)._leaves_open(run, batch, [{"name": name} for name in columns])
    assert bool(found) == leaves


@pytest.mark.parametrize("kind", ["first_load", "full_refresh"])
@pytest.mark.parametrize("begins", [True, False])
def test_what_loads_everything_anew_keeps_no_row_out(kind: str, begins: bool) -> None:
    """It supersedes what is open, so its own rows go in; with a new ledger it does not begin the table."""
    run = run_of("merge", settings={"watermark": {"column": "at"}})
    batch = batch_of(kind, begins=begins, lookback=60)
    floodmark = macros(COLUMNS)
    assert floodmark._came_again_sql(run, batch) == "true"
    assert not floodmark._leaves_open(run, batch, [{"name": name} for name in COLUMNS])


@pytest.mark.parametrize(
    ("held", "older"),
    [
        (
            ["id", "_commit_version"],
            "coalesce(q._commit_version < j._floodmark_newest, q._floodmark_batch_id < 3)",
        ),
        (["id"], "q._floodmark_batch_id < 3"),
    ],
)
def test_a_row_without_a_version_is_older_than_a_change_of_its_key(
    held: list[str], older: str
) -> None:
    """It was held back before the SELECT gave the version."""
    sent: list[str] = []
    floodmark = macros(held, run_query=lambda sql: SimpleNamespace(rows=[(1,)]))
    floodmark._execute = sent.extend
    floodmark._judged_relation = lambda batch: "judged"
    floodmark._is_stage_whole = lambda stage, strategy=None: True
    judged = {"columns": [{"name": name} for name in held]}
    floodmark._supersede_changed(
        run_of("merge"), batch_of("incremental", family="version", judged=judged)
    )
    assert len(sent) == 1
    assert f"(q.`id` <=> j.`id`) and {older} and q._floodmark_state = 'open'" in sent[0].replace(
        "on q.`id` <=> j.`id`", "on (q.`id` <=> j.`id`)"
    )


@pytest.mark.parametrize(
    ("last", "rows", "older", "is_newest"),
    [(None, 2, 0, True), (4, 2, 0, True), (4, 2, 2, False), (4, 0, 0, True), (4, 2, 1, None)],
)
def test_rows_of_another_watermark_replace_nothing_in_a_replay(
    last: int | None, rows: int, older: int, is_newest: bool | None
) -> None:
    def run_query(sql: str) -> SimpleNamespace:
        found = (last,) if "max(batch_id)" in sql else (rows, older)
        return SimpleNamespace(rows=[found])

    floodmark = macros(["id"], run_query=run_query)
    floodmark.ledger_schema = lambda: "ledger"
    floodmark._model_id = lambda: "shop.orders"
    run = run_of("merge", settings={"watermark": {"kind": "version"}})
    asked = {"replay": {"rule": None, "where": None, "set": None}, "part": "rows"}
    batch = batch_of("replay", family="version", asked=asked)
    if is_newest is None:
        with pytest.raises(Refused, match="replay them apart, with where: '_floodmark_batch_id <="):
            floodmark._replays_newest(run, batch)
        return
    assert floodmark._replays_newest(run, batch) is is_newest
    assert floodmark._replays_newest(run, batch | {"family": "timestamp"}) is False
    source = {"columns": [{"name": "id", "type": "int"}, {"name": "a", "type": "int"}]}
    floodmark._updated_columns = lambda columns: ["a"]
    source |= {"only_later": True, "is_newest": is_newest}
    found = floodmark._wins_predicate(run, source, ["id", "a"])
    assert (found != "false") == is_newest


@pytest.mark.parametrize(
    ("output_mode", "event_time", "remembers", "is_newest"),
    [
        ("update", None, True, True),
        # The later micro-batch may have the older row of a key; and of rows that it appends all are open.
        ("update", "at", True, False),
        ("append", None, True, False),
        # Another output mode may have been before, in which nothing superseded older rows.
        ("update", None, False, False),
    ],
)
def test_the_value_of_a_group_that_is_open_is_its_newest(
    output_mode: str, event_time: str | None, remembers: bool, is_newest: bool
) -> None:
    """A replay loads it over the value that the table has."""
    settings = {"output_mode": output_mode, "event_time": event_time, "remembers": remembers}
    found = macros(["id"])._replays_newest(run_of("merge", settings=settings), batch_of("replay"))
    assert found is is_newest


@pytest.mark.parametrize(
    ("strategy", "overwrites", "leaves"),
    [
        ("merge", False, True),
        ("merge", "append", True),
        ("cdc", "append", True),
        # Its rows are in the table twice as well.
        ("append", "append", False),
        # What is open of the file is superseded.
        ("merge", "replace", False),
    ],
)
def test_a_file_that_is_read_again_leaves_its_rows_open_once(
    strategy: str, overwrites: Any, leaves: bool
) -> None:
    settings = {"files": {"allow_overwrites": overwrites}, "watermark": None}
    run = run_of(strategy, settings=settings, partitions=[])
    given = {"files": [{"path": "a.json"}], "lookback": 0, "replaces_files": None}
    batch = batch_of("incremental", low_position=None, **given)
    assert bool(macros(COLUMNS)._leaves_open(run, batch, [{"name": "id"}])) == leaves


def test_a_corrupt_record_is_told_by_its_text_and_its_file() -> None:
    """It has no values, and neither has another, or a file that is corrupt as a whole."""
    sent: list[str] = []
    floodmark = macros(COLUMNS, invocation_id="11111111-2222")
    floodmark._make_quarantine = lambda quarantine, columns: []
    floodmark._apply_once = lambda table, batch, sql: sent.append(sql)
    batch = batch_of("incremental", generation="g", settings={"files": {}})
    floodmark._model_id = lambda: "shop.orders"
    part = {"sql": "rows", "names": ["_floodmark_raw"]}
    floodmark._quarantine(batch, [], [part], is_again=True)
    text = (
        "if(_floodmark_rules is null, _floodmark_raw || ' ' || _floodmark_file, "
        "coalesce(_floodmark_raw, ''))"
    )
    assert f"{text} as _floodmark_text" in sent[0]
    assert f"{text} as _floodmark_open_text" in sent[0]


@pytest.mark.parametrize(
    ("held", "now", "value"),
    [
        ("bigint", "bigint", "q.`id`"),
        # What does not fit the column stands in the text of its row.
        ("int", "bigint", "coalesce(try_cast(q.`id` as bigint), from_json("),
        ("bigint", "string", "coalesce(try_cast(q.`id` as string), from_json("),
        # Spark refuses such a cast, and with it the whole statement.
        ("date", "int", "coalesce(cast(null as int), from_json("),
        # A cast would take its fields as they stand.
        (
            "struct<a:int,b:int>",
            "struct<b:int,a:int>",
            "coalesce(if(q.`id` is null, null, named_struct('b', q.`id`.`b`, 'a', q.`id`.`a`)), from_json(",
        ),
    ],
)
def test_a_held_key_is_compared_in_the_type_that_keys_have_now(
    held: str, now: str, value: str
) -> None:
    found = load()._held_value_sql({"name": "id", "type": held}, {"name": "id", "type": now})
    assert found.startswith(value)
    if "from_json" in value:
        assert f"struct<`id`:{now}>" in found or f"struct<id:{now}>" in found
