"""What may order the events of a key: over the changes of a table, in another run, in parts; without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.macros import Refused, load

FEED = ["id", "updated_at", "_change_type", "_commit_version"]


def columns_of(**types: str) -> list[dict[str, str]]:
    return [{"name": name, "type": ddl.lower(), "ddl": ddl} for name, ddl in types.items()]


def named(*names: str) -> list[dict[str, str]]:
    return columns_of(**dict.fromkeys(names, "bigint"))


def feed_problems(
    sequence_by: list[str],
    deletes: str | None = "_change_type = 'delete'",
    selected: list[str] = FEED,
    upstream: list[str] | None = FEED[:2],
    code: str = "",
    reads_feed: bool = True,
    kind: str = "",
) -> list[dict[str, Any]]:
    # An apostrophe in a comment of Jinja opens no text.
    floodmark = load(model={"raw_code": "{# it's #} {{ ref('x') }}", "compiled_code": code})
    cdc = {"deletes": deletes, "reads_feed": reads_feed, "sequence_by": sequence_by}
    known = {"columns": named(*upstream)} if upstream is not None else None
    watermark = {"kind": "version"} if known and reads_feed else None
    settings = {"cdc": cdc, "watermark": watermark}
    run = {"settings": settings, "upstream": known, "sql": f"/*floodmark:changes s.t{kind}*/"}
    problems = floodmark._feed_sequence_problems(run, named(*selected))
    return problems + run.get("warnings", [])


@pytest.mark.parametrize(
    "case",
    [
        {"sequence_by": ["updated_at"]},
        {"sequence_by": ["UPDATED_AT", "id"]},
        {"sequence_by": ["`updated_at`"], "deletes": "lower(_Change_Type) = 'delete'"},
        {"sequence_by": ["struct(updated_at, id)"]},
        {"sequence_by": ["to_timestamp(updated_at, '_commit_version')"]},
        # What a deleted row is may have a name of its own.
        {"sequence_by": ["updated_at"], "deletes": "gone", "selected": [*FEED, "gone"]},
        # A stream of changes has no upstream that was described.
        {"sequence_by": ["updated_at"], "upstream": None},
    ],
)
def test_a_delete_of_a_state_needs_an_order_of_its_own(case: dict[str, Any]) -> None:
    """The feed gives a deleted row as it was, so by its own columns the delete ties with the row."""
    (problem,) = feed_problems(**case)
    assert problem["setting"] == "cdc.sequence_by"
    assert "sequence_by: '_commit_version', keep it in the SELECT" in problem["todo"]


@pytest.mark.parametrize(
    "case",
    [
        {"sequence_by": ["_commit_version"]},
        {"sequence_by": ["_commit_version", "updated_at"]},
        {"sequence_by": ["struct(updated_at, _COMMIT_VERSION)"]},
        {"sequence_by": ["_commit_timestamp"], "selected": [*FEED, "_commit_timestamp"]},
        # What the SELECT makes is the analyst's own.
        {"sequence_by": ["version"], "selected": ["id", "_change_type", "version"]},
        # Deletes that the rows themselves tell are events, or a flag.
        {"sequence_by": ["updated_at"], "deletes": "op = 'd'", "selected": [*FEED, "op"], "upstream": [*FEED[:2], "op"]},
        # Of a feed of events only added rows are read, whatever the SELECT makes of them.
        {"sequence_by": ["seq"], "deletes": "is_deleted", "selected": ["id", "seq", "is_deleted"],
         "upstream": ["id", "seq", "op"], "kind": " events"},
        {"sequence_by": ["updated_at"], "deletes": None},
        {"sequence_by": ["updated_at"], "reads_feed": False},
        {"sequence_by": ["at"], "upstream": None, "selected": [*FEED, "at"],
         "code": "select *, if(_change_type = 'delete', now(), updated_at) as at from x"},
    ],
)  # fmt: skip
def test_a_sequence_that_tells_a_delete_from_its_row(case: dict[str, Any]) -> None:
    assert feed_problems(**case) == []


@pytest.mark.parametrize(
    "case",
    [
        {"sequence_by": ["updated_at", "_commit_version"]},
        {"sequence_by": ["updated_at", "id", "version"], "selected": [*FEED, "version"]},
        {"sequence_by": ["updated_at", "_commit_timestamp"], "upstream": None, "selected": [*FEED, "_commit_timestamp"]},
    ],
)  # fmt: skip
def test_a_column_that_a_change_may_set_back_is_warned_of(case: dict[str, Any]) -> None:
    """The change would be older than the row, and so would a delete behind it. Tables are ordered by it already."""
    (warning,) = feed_problems(**case)
    assert "cdc.sequence_by has updated_at first" in warning
    assert "sequence_by: '_commit_version'" in warning


@pytest.mark.parametrize(
    ("selected", "deletes", "reads_feed", "upstream", "sql", "commit"),
    [
        # A stream of changes: by the feed's columns, or by its sequence.
        (FEED, "_change_type = 'delete'", True, None, "", "_commit_version"),
        (["id", "_change_type", "seq"], "_change_type = 'delete'", True, None, "", "seq"),
        (["id", "gone", "seq"], "gone", True, None, "", "seq"),
        # A stream of events, and one of rows.
        (["id", "op", "seq"], "op = 'D'", True, None, "", None),
        (["id", "_change_type", "seq"], None, True, None, "", None),
        (["id", "op", "seq"], "op = 'D'", False, None, "", None),
        # Columns of the feed's names in what is no feed are the analyst's.
        (FEED, "_change_type = 'delete'", False, None, "", None),
        # changes() of a state, and of events.
        (["id", "_change_type", "seq"], "_change_type = 'delete'", True, ["id"], "/*floodmark:changes s.t*/", "seq"),
        (["id", "op", "seq"], "op = 'D'", True, ["id", "op"], "/*floodmark:changes s.t events*/", None),
    ],
)  # fmt: skip
def test_events_that_tell_what_one_commit_replaced(
    selected: list[str],
    deletes: str | None,
    reads_feed: bool,
    upstream: list[str] | None,
    sql: str,
    commit: str | None,
) -> None:
    """A row that an overwrite takes away and brings again with another value is no delete."""
    code = "select id, _change_type = 'delete' as gone, _commit_version as seq, op from x"
    floodmark = load(model={"raw_code": code})
    cdc = {"deletes": deletes, "reads_feed": reads_feed, "sequence_by": ["seq"]}
    watermark = {"kind": "version"} if upstream else None
    run = {
        "settings": {"cdc": cdc, "unique_key": ["id"], "watermark": watermark},
        "upstream": {"columns": named(*upstream)} if upstream else None,
        "sql": sql,
    }
    found = floodmark._event_commits(run, named(*selected), "seq", "deleted", "false")
    assert (found and found["commit"]) == commit
    if commit == "seq":
        assert (found["takes"], found["adds"]) == ("deleted", "not deleted and not false")


SNAPSHOT = (
    "/*floodmark:changes s.t events*/ (select *, 0 as _commit_version from s.t) /*floodmark:end*/"
)


@pytest.mark.parametrize(
    ("select", "sequence_by", "uses"),
    [
        ("select *", ["_COMMIT_VERSION"], True),
        ("select *", ["struct(_commit_version, n)"], True),
        ("select id, _commit_version as seq", ["seq"], True),
        ("select id, _commit_version v", ["v"], True),
        # A value that every event would have anew, or a choice among its events.
        ("select id, seq, _commit_version + 1 as day", ["seq"], True),
        ("select *, row_number() over (partition by id order by `_commit_version`) as r", ["seq"], True),
        ("select *", ["seq"], False),
        # Neither kept nor used.
        ("select id, f._commit_version, seq", ["seq"], False),
        ("select seq, `_Commit_Version`", ["seq"], False),
        ("select * except (_commit_version), '_commit_version' as said -- _commit_version\n", ["seq"], False),
    ],
)  # fmt: skip
def test_what_is_made_of_the_versions_of_events(
    select: str, sequence_by: list[str], uses: bool
) -> None:
    run = {
        "settings": {"cdc": {"sequence_by": sequence_by}},
        "sql": f"{select} from {SNAPSHOT} as f",
    }
    assert load()._uses_versions(run) is uses


def events_by_version(kind: str, sequence_by: str = "_commit_version") -> dict[str, Any]:
    """A run over the changes of a table s.t that has a column seq."""
    cdc = {"sequence_by": [sequence_by]}
    watermark = {"kind": "version", "start": None, "nulls": None}
    settings = {"strategy": "cdc", "files": None, "watermark": watermark, "cdc": cdc}
    return {
        "settings": settings,
        "upstream": {"relation": "s.t", "family": "version", "columns": named("id", "seq")},
        "sql": f"select * from {SNAPSHOT.replace(' events', kind)}",
    }


LOST = "without watermark.start, s.t is read as it is now: .* Set watermark.start"


@pytest.mark.parametrize(
    ("case", "refused"),
    [
        ({}, True),
        ({"kind": "full_refresh"}, True),
        # A table that has rows, and no mark.
        ({"kind": "incremental"}, True),
        ({"rows_tied": 0}, False),
        ({"sequence_by": "seq"}, False),
        ({"start_position": 0}, False),
        ({"low_position": 3, "kind": "incremental"}, False),
        # Rows of the quarantine have the versions in which they came.
        ({"kind": "replay"}, False),
        ({"family": "sequence"}, False),
        # A table has its keys once, and is read as it is.
        ({"changes": ""}, False),
    ],
)
def test_events_that_lost_their_versions_are_rejected_where_they_tie(
    case: dict[str, Any], refused: bool
) -> None:
    """In a first load all have the newest, so a delete would tie with the upsert before it."""
    case = {"kind": "first_load", "family": "version", "low_position": None, "start_position": None,
            "rows_tied": 2, "sequence_by": "_commit_version", "changes": " events"} | case  # fmt: skip
    floodmark = load()
    floodmark._model_id = lambda: "shop.orders"
    floodmark._check_events = lambda run, batch, source: None
    run = events_by_version(case["changes"], case["sequence_by"])
    source = {"counts": {"rows_tied": case["rows_tied"]}, "columns": named("id", "seq", "_commit_version")}  # fmt: skip
    if refused:
        with pytest.raises(Refused, match=LOST):
            floodmark._check_staged_events(run, case, source)
    else:
        floodmark._check_staged_events(run, case, source)


@pytest.mark.parametrize(
    ("kind", "sequence_by", "start", "stopped"),
    [
        (" events", "_commit_version", None, LOST),
        ("", "_commit_version", None, "s.t is not a feed of events"),
        (" events", "seq", None, None),
        (" events", "_commit_version", 0, None),
        ("", "_commit_version", 0, None),
    ],
)
def test_a_restatement_needs_the_versions_of_the_events(
    kind: str, sequence_by: str, start: int | None, stopped: str | None
) -> None:
    """It reads the feed as it is, and would give the newest version to all events."""
    floodmark = load()
    floodmark._model_id = lambda: "shop.orders"
    floodmark._history = lambda relation, limit: [{"version": 3}]
    planned: list[dict[str, Any]] = []
    floodmark._record_plan = lambda run, plan: planned.append(plan)
    run = events_by_version(kind, sequence_by)
    run["settings"]["watermark"]["start"] = start
    committed = {"mark": "3", "generation": "g", "watermark_column": None, "upstream": "s.t"}
    run |= {
        "first": True, "restate": {"from": 2}, "target": {"is_empty": False}, "full_refresh": False,
        "state": {"committed": committed, "last_batch_id": 3},
    }  # fmt: skip
    if stopped:
        with pytest.raises(Refused, match=stopped):
            floodmark._next_restate_batch(run)
    else:
        floodmark._next_restate_batch(run)
    assert [plan["start_position"] for plan in planned] == ([] if stopped else [start])


def test_a_log_of_events_that_is_read_as_a_feed_is_no_state() -> None:
    """Its deletes are events, whatever the SELECT calls their column: one beside an upsert stays."""
    code = "select payload.op as op, payload.seq as seq, payload.id as id from stream(log) with (readChangeFeed = true)"
    floodmark = load(model={"raw_code": code})
    cdc = {"deletes": "op = 'D'", "reads_feed": True, "sequence_by": ["seq"]}
    run = {
        "settings": {"cdc": cdc, "unique_key": ["id"], "watermark": None},
        "upstream": None,
        "sql": "",
    }
    columns = named("id", "op", "seq")
    assert floodmark._event_commits(run, columns, "seq", "deleted", "false") is None
    assert floodmark._feed_sequence_problems(run, columns) == []


@pytest.mark.parametrize(
    ("raw", "compiled", "reads_feed"),
    [
        ("from stream(t) with (readChangeFeed = true)", None, True),
        ("from {{ ref('fed') }}", "with fed as (from stream(t) with (readchangefeed = true))", True),
        ("from {{ ref('fed') }} {# no readChangeFeed #}", "from stream(t)", False),
        # Delta takes this name, too.
        ("from stream(t) with (maxFilesPerTrigger = 1, 'readChangeData' 'true')", None, True),
        ("from stream(t) -- not its readChangeFeed\n", None, False),
        ("from stream(t) /* with (readChangeFeed = true) */", None, False),
        ("from stream(t) with (readChangeFeed = 'False')", None, False),
    ],
)  # fmt: skip
def test_a_feed_is_known_wherever_its_option_stands(
    raw: str, compiled: str | None, reads_feed: bool
) -> None:
    """In the model, or in an ephemeral model, a macro or a variable."""
    model = {
        "raw_code": raw,
        "compiled_code": compiled,
        "config": {"materialized": "streaming_table"},
    }
    floodmark = load(config={"cdc": {"sequence_by": "seq"}}, model=model)
    floodmark._is_stream = lambda: True
    assert floodmark._cdc_settings()["reads_feed"] is reads_feed


@pytest.mark.parametrize(
    ("before", "now", "is_same"),
    [
        (["seq"], ["`SEQ` "], True),
        (["struct(a, b)"], ["struct( a,b )"], True),
        (["a", "b"], ["A", '"b"'], True),
        (["ts"], ["ts\n  + 1"], False),
        (["ts_ms"], ["lsn"], False),
        (["a", "b"], ["b", "a"], False),
        (["a"], ["a", "b"], False),
        (["cast(a as int)"], ["cast(a asint)"], False),
    ],
)
def test_a_table_keeps_what_orders_its_rows(
    before: list[str], now: list[str], is_same: bool
) -> None:
    """Another column of the same type would order later events by numbers that the rows do not have."""
    floodmark = load()
    kept = floodmark._sequence_property({"sequence_by": before})["floodmark.sequence"]
    problems = floodmark._changed_sequence_problems(
        {"sequence_by": now}, floodmark._from_property(kept)
    )
    assert (problems == []) == is_same
    for problem in problems:
        assert "--full-refresh" in problem["todo"]
        assert "unset tblproperties ('floodmark.sequence')" in problem["todo"]


def test_a_table_of_earlier_code_keeps_none() -> None:
    assert load()._changed_sequence_problems({"sequence_by": ["lsn"]}, None) == []


@pytest.mark.parametrize(
    ("ddl", "terms"),
    [
        ("bigint", ""),
        ("array<int>", ""),
        ("struct<Ts:timestamp,`a b`:int>", " or _floodmark_sequence.`Ts` is null or _floodmark_sequence.`a b` is null"),
        ("struct<a:struct<b:int>,c:int>", " or _floodmark_sequence.`a`.`b` is null or _floodmark_sequence.`c` is null"),
    ],
)  # fmt: skip
def test_no_part_of_a_sequence_may_be_null(ddl: str, terms: str) -> None:
    sql = load()._unordered_sql(columns_of(_floodmark_sequence=ddl))
    assert sql == f"(_floodmark_sequence is null{terms})"


@pytest.mark.parametrize(
    ("parts", "struct"),
    [
        (["a", "b"], "a, b"),
        (["one.ts", "two.ts"], "one.ts as `ts_1`, two.ts as `ts_2`"),
        (["date(ts)", "seq"], "date(ts), seq"),
        # Without column mapping Delta takes no such names, not even within a struct.
        (["`my col`", "b"], "`my col` as `part_1`, b"),
        (["b", "s.`x=1`"], "b, s.`x=1` as `part_2`"),
        (["`it's`", "`a-b`"], "`it's`, `a-b`"),
        # Spark names an expression by its place.
        (["date(ts)", "col1"], "date(ts) as `part_1`, col1"),
        (["col1", "date(ts)"], "col1, date(ts)"),
        (["col2", "date(ts)"], "col2, date(ts) as `part_2`"),
    ],
)
def test_the_parts_of_a_sequence_have_names_that_delta_takes(parts: list[str], struct: str) -> None:
    assert load()._sequence_sql(parts).endswith(f" is null, null, struct({struct}))")


@pytest.mark.parametrize(
    ("memory", "replaces", "is_kept"),
    [
        ("struct<my col:int,b:int>", False, True),
        ("struct<my col:int,b:int>", True, False),
        ("struct<part_1:int,b:int>", False, False),
        (None, False, False),
    ],
)
def test_a_table_keeps_the_names_that_its_sequence_has(
    memory: str | None, replaces: bool, is_kept: bool
) -> None:
    """By column mapping any name goes, and a struct with other names would be another type."""
    floodmark, parts = load(), ["`my col`", "b"]
    cdc = {
        "sequence": floodmark._sequence_sql(parts),
        "sequence_by": parts,
        "ignore_null_updates": False,
    }
    known = columns_of(id="int", **({"_floodmark_sequence": memory} if memory else {}))
    run = {"settings": {"cdc": cdc}, "target": {"is_delta": True}, "table_columns": known}
    floodmark._keep_sequence_names(run, {"replaces": replaces})
    assert cdc["sequence"].endswith(
        "struct(`my col`, b))" if is_kept else "struct(`my col` as `part_1`, b))"
    )
