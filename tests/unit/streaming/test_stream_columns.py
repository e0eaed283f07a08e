"""What a stream writes of its SELECT, and what it refuses before it starts; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from dbt_floodmark.streaming.query import Request
from tests.support.macros import Refused, load

STREAMS = SimpleNamespace(shape="shape")


def described(**columns: str) -> list[dict[str, str]]:
    return [{"name": name, "type": ddl.lower(), "ddl": ddl} for name, ddl in columns.items()]


def stream_of(
    selected: dict[str, str], table: dict[str, str], **settings: Any
) -> tuple[SimpleNamespace, dict[str, Any]]:
    """The macros over a SELECT and a table of these columns, and the run of a stream."""
    warned: list[str] = []
    exceptions = SimpleNamespace(raise_compiler_error=refuse, warn=warned.append)
    floodmark = load(exceptions=exceptions)
    floodmark.warned = warned
    floodmark.sent = []
    floodmark._execute = floodmark.sent.extend
    floodmark._properties_of = lambda relation: {}

    def columns_of(query: str | None = None, relation: Any = None) -> list[dict[str, str]]:
        return described(**(selected if query else table))

    floodmark._columns_of = columns_of
    settings = {
        "strategy": "append",
        "unique_key": [],
        "on_schema_change": "ignore",
        "watermark": None,
        "cdc": None,
    } | settings
    run = {"settings": settings, "target": {"is_delta": True}, "request": {"native": True}}
    return floodmark, run


def refuse(message: str) -> None:
    raise Refused(message)


def test_an_append_stream_writes_the_tables_types() -> None:
    """Delta's sink casts what it gets: 12.34 became 12. Each value is checked, as in a batch."""
    floodmark, run = stream_of(
        {"f": "double", "amount": "decimal(17,2)", "id": "int", "more": "int", "d": "timestamp"},
        {"id": "bigint", "Amount": "decimal(17,0)", "d": "date", "f": "float", "other": "int"},
    )
    floodmark._align_stream(run, STREAMS)
    columns = run["request"]["columns"]
    assert [one.rsplit(" as ", 1)[1] for one in columns] == ["`id`", "`amount`", "`d`", "`f`"]
    assert columns[0] == "try_cast(`id` as bigint) as `id`"
    for column, type in zip(columns[1:], ("decimal(17,0)", "date", "float"), strict=True):
        assert f" as {type})" in column and "raise_error" in column, column


def test_what_the_macros_write_comes_as_the_select_gives_it() -> None:
    """Rules judge it before it is cast, and what on_schema_change leaves out has rules, too."""
    floodmark, run = stream_of({"amount": "string", "kind": "string"}, {"amount": "int"})
    run["request"]["native"] = False
    floodmark._align_stream(run, STREAMS)
    assert "columns" not in run["request"]


def test_equal_types_are_written_as_they_are() -> None:
    floodmark, run = stream_of({"b": "int", "a": "string"}, {"a": "string", "b": "int"})
    floodmark._align_stream(run, STREAMS)
    assert run["request"]["columns"] == ["`a`", "`b`"]


def test_a_backtick_in_a_name() -> None:
    floodmark, run = stream_of({"ti`ck": "int"}, {"ti`ck": "int"})
    floodmark._align_stream(run, STREAMS)
    assert run["request"]["columns"] == ["`ti``ck`"]


def test_types_without_a_cast_are_refused() -> None:
    floodmark, run = stream_of({"d": "boolean"}, {"d": "date"})
    with pytest.raises(Refused, match='got "d boolean"; expected date, as in'):
        floodmark._align_stream(run, STREAMS)


def made(floodmark: SimpleNamespace, run: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """The SELECT and the properties that the table of a stream is made with."""
    found: list[tuple[str, dict[str, str]]] = []

    def replace_table_sql(select: str, properties: dict[str, str]) -> str:
        found.append((select, properties))
        return "create"

    floodmark._replace_table_sql = replace_table_sql
    columns = floodmark._make_stream_table(run, STREAMS, {"floodmark.stream": "m"})
    run["request"]["columns"] = floodmark._written_columns(columns)
    return found[0]


def test_a_stream_makes_no_table_that_breaks_its_contract() -> None:
    """No batch has held the SELECT against it by then."""
    floodmark, run = stream_of({"id": "int"}, {})
    asked: list[str] = []
    floodmark._assert_contract = asked.append
    select, _ = made(floodmark, run)
    assert asked == [select]


def test_a_stream_with_a_column_of_the_change_feed_has_no_feed_of_its_own() -> None:
    floodmark, run = stream_of({"id": "int", "_change_type": "string"}, {})
    floodmark._setting = lambda name: None
    assert made(floodmark, run)[1]["delta.enableChangeDataFeed"] == "false"
    floodmark._setting = lambda name: name == "change_feed"
    with pytest.raises(Refused, match="change_feed: got true; expected no column _change_type in"):
        made(floodmark, run)


def test_what_has_no_type_yet_is_kept_out_of_a_stream() -> None:
    """`null as n` and `array() as l`: Delta refuses both, in a streaming write or in the table."""
    selected = {"id": "int", "n": "void", "l": "array<void>", "s": "struct<a:int,b:void>"}
    floodmark, run = stream_of(selected, {"id": "int", "s": "struct<a:int>"})
    select, properties = made(floodmark, run)
    columns = ["`id`", "if(`s` is null, null, named_struct('a', `s`.`a`)) as `s`"]
    assert select == f"select {', '.join(columns)} from (\nselect * from shape\n)"
    assert run["request"]["columns"] == columns
    assert floodmark._from_property(properties.pop("floodmark.untyped")) == '["n", "l", "s.b"]'
    assert properties == {"floodmark.stream": "m"}
    (warning,) = run["warnings"]
    assert "the SELECT gives n, l, s.b without a type" in warning

    # The next run finds the table without them, and a third gives them types.
    del run["request"]["columns"]
    floodmark._align_stream(run, STREAMS)
    assert run["request"]["columns"] == columns
    selected |= {"n": "date", "l": "array<int>", "s": "struct<a:int,b:int>"}
    del run["untyped"], run["awaits"]
    kept = floodmark._to_property('["n", "l", "s.b"]')
    floodmark._properties_of = lambda relation: {"floodmark.untyped": kept}
    floodmark._align_stream(run, STREAMS)
    added = floodmark.sent[-1]
    assert added.endswith(" add columns (`n` date, `l` array<int>, `s`.`b` int)"), added


def test_a_field_without_a_type_that_joins_a_struct_is_waited_for() -> None:
    table = {"id": "int", "s": "struct<a:int>", "l": "array<struct<a:int>>", "t": "array<int>"}
    selected = {"s": "struct<a:int,b:void>", "l": "array<struct<a:int,b:void>>", "t": "array<void>"}
    floodmark, run = stream_of({"id": "int", **selected}, table)
    floodmark._align_stream(run, STREAMS)
    assert run["untyped"] == ["s.b", "l.element.b"]
    [(sql)] = floodmark.sent
    assert "floodmark.untyped" in sql


def test_a_stream_whose_columns_all_have_types_is_made_as_it_is() -> None:
    floodmark, run = stream_of({"id": "int", "_change_type": "string"}, {})
    select, properties = made(floodmark, run)
    assert select == "select * from shape"
    assert properties == {"delta.enableChangeDataFeed": "false", "floodmark.stream": "m"}
    assert not floodmark._conforms(run, described(id="int"))


@pytest.mark.parametrize(
    ("key", "type", "problem"),
    [
        ("nope", "int", 'unique_key: got "nope"; expected a column of the SELECT. Add it to the'),
        ("k", "map<string,int>", 'got "k map<string,int>"; expected a type that can be compared'),
        ("K", "variant", 'unique_key: got "K variant"; expected a type that can be compared. Use'),
        ("k", "struct<a:map<int,int>>", "expected a type that can be compared. Use another key"),
    ],
)
def test_a_key_that_cannot_be_compared_is_refused(key: str, type: str, problem: str) -> None:
    """Spark would drop by the key of an append stream whatever its type."""
    floodmark, _ = stream_of({}, {})
    columns = described(id="int", k=type)
    with pytest.raises(Refused) as refused:
        floodmark._check_stream_columns({"distinct_by": ["id", key]}, columns)
    assert problem in str(refused.value)
    floodmark._check_stream_columns({"distinct_by": ["ID"]}, columns)
    floodmark._check_stream_columns({"distinct_by": []}, columns)


@pytest.mark.parametrize(
    ("strategy", "rules", "native", "distinct_by", "whole_commits"),
    [
        ("append", [], True, ["id"], False),
        ("append", [{}], False, ["id"], False),
        ("merge", [], False, [], False),
        ("cdc", [], False, [], True),
    ],
)
def test_what_a_query_is_asked_for(
    strategy: str, rules: list[Any], native: bool, distinct_by: list[str], whole_commits: bool
) -> None:
    """The same for a run, for --empty and for `floodmark reconcile`; each field is one of a Request."""
    floodmark, run = stream_of({}, {}, strategy=strategy, unique_key=["id"])
    floodmark._absolute_path = lambda path: "/project"
    settings = run["settings"] | {"output_mode": "append", "expectations": rules}
    request = Request(**floodmark._stream_request("shop.m", settings, "select 1"))
    asked = (request.native, request.distinct_by, request.whole_commits)
    assert asked == (native, distinct_by, whole_commits)
    assert (request.model, request.table, request.location) == ("shop.m", "", "")


@pytest.mark.parametrize(
    ("strategy", "described_as", "warns"),
    [
        ("merge", {}, True),
        ("merge", {"event_time": "at"}, False),
        ("merge", {"has_watermark": False}, False),
        # It closes groups, or joins, whatever the SELECT gives.
        ("merge", {"remembers": True}, False),
        ("append", {}, False),
        ("cdc", {}, False),
    ],
)
def test_a_watermark_whose_column_the_select_does_not_give(
    strategy: str, described_as: dict[str, Any], warns: bool
) -> None:
    floodmark, run = stream_of({}, {}, strategy=strategy)
    found = {"event_time": None, "has_watermark": True, "remembers": False} | described_as
    floodmark._warn_of_lost_time(run, found)
    said = "the one of the later micro-batch wins, even if it is older: add the column to the"
    assert [said in warning for warning in run.get("warnings", [])] == [True] * warns


@pytest.mark.parametrize("strategy", ["merge", "cdc", "append"])
def test_char_columns_are_refused_before_a_stream_takes_a_table(strategy: str) -> None:
    floodmark, run = stream_of({}, {}, strategy=strategy)
    rows = [("id", "int", None), ("code", "char(5)", None)]
    asked = load(
        run_query=lambda sql: SimpleNamespace(rows=rows),
        exceptions=SimpleNamespace(raise_compiler_error=refuse),
    )
    asked._execute = floodmark.sent.extend
    given_up: list[Any] = []

    def give_up(run: dict[str, Any]) -> None:
        given_up.append(run)
        raise RuntimeError

    asked._give_up_open_batch = give_up
    with pytest.raises(RuntimeError if strategy == "append" else Refused) as refused:
        asked._take_on(run, STREAMS)
    if strategy != "append":
        assert f"{strategy} into column code char(5) of " in str(refused.value)
        assert "alter column `code` type string" in str(refused.value)
        assert given_up == []


@pytest.mark.parametrize(
    ("settings", "problems"),
    [
        ({"strategy": "merge", "unique_key": ["nope"]}, ['unique_key: got "nope"']),
        (
            {"strategy": "cdc", "unique_key": ["nope"]},
            ['unique_key: got "nope"', 'cdc.except_column_list: got "none"'],
        ),
        # Rules are asked by the macros, too, which write the rows.
        ({"strategy": "append"}, ["a column _floodmark_x in the SELECT"]),
        (
            {
                "strategy": "append",
                "expectations": [{"name": "alone", "kind": "batch", "unique": ["nope"]}],
            },
            ['expectations.alone: got "nope"; expected a column of the SELECT: id, seq'],
        ),
    ],
)
@pytest.mark.parametrize("begins", ["_start_over", "_take_on"])
def test_what_a_strategy_cannot_write_is_refused_before_its_table_is_made(
    settings: dict[str, Any], problems: list[str], begins: str
) -> None:
    """The table would name the settings, and refuse them once they are corrected."""
    own = {} if settings["strategy"] == "cdc" else {"_floodmark_x": "int"}
    events = {"_floodmark_sequence": "int", "_floodmark_delete": "boolean"}
    selected = {"id": "int", "seq": "int"} | own
    floodmark, run = stream_of(selected, {"id": "int", "_floodmark_sequence": "int"})
    columns_of = floodmark._columns_of

    def with_events(query: str | None = None, relation: Any = None) -> list[dict[str, str]]:
        added = events | {"_floodmark_truncate": "boolean"}
        is_events = query is not None and " as _floodmark_sequence" in query
        return columns_of(query, relation) + (described(**added) if is_events else [])

    floodmark._columns_of = with_events
    cdc = {
        "sequence": "seq",
        "sequence_by": ["seq"],
        "scd_type": 1,
        "column_list": [],
        "except_column_list": ["none"],
        "start_at": "s",
        "end_at": "e",
        "tracked": [],
        "untracked": [],
        "ignore_null_updates": False,
    }
    run["settings"] |= {"cdc": cdc} | settings
    run["request"]["native"] = False
    run["target"] |= {"exists": True}
    beside = ["_check_char_columns", "_give_up_open_batch", "_supersede", "_quarantine_relation"]
    for name in [*beside, "_now"]:
        setattr(floodmark, name, lambda *given: "")
    with pytest.raises(Refused) as refused:
        getattr(floodmark, begins)(run, STREAMS)
    for problem in problems:
        assert problem in str(refused.value)
    assert floodmark.sent == []
