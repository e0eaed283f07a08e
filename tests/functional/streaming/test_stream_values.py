"""What streams write into tables that somebody made, what they refuse to, and columns without a type."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.support.faults import Faults, injected
from tests.support.harness import Project, Run, incremental, sentence, table
from tests.support.streams import stream

pytestmark = [pytest.mark.parametrize("target", ["session"], scope="module"), pytest.mark.edge]

SOURCE = "stream({{ source('raw', 'src') }})"
NARROW = "select id, amount, at as d, x as f from " + SOURCE
UNTYPED = "select id, null as n, array() as l from " + SOURCE
TYPED = "select id, cast(id as string) as n, array(id) as l from " + SOURCE
HISTORY = {
    "incremental_strategy": "cdc",
    "unique_key": "id",
    "cdc": {"sequence_by": "seq", "stored_as_scd_type": 2},
}
MERGED = {"incremental_strategy": "merge", "unique_key": "id"}

#: What changes in `fed`: under the names of the feed, and `seq` for its versions.
FEED = (
    "select id, v, _change_type, _commit_version as seq from stream({{ source('raw', 'fed') }}) "
    "with (readChangeFeed = true) where _change_type <> 'update_preimage'"
)
REPLACED = {
    "incremental_strategy": "cdc",
    "unique_key": "id",
    "cdc": {
        "sequence_by": "seq",
        "apply_as_deletes": "_change_type = 'delete'",
        "stored_as_scd_type": 2,
    },
}

MODELS = {
    "replaced": stream(FEED, **REPLACED),
    "replaced_in_parts": stream(FEED.replace("true)", "true, maxFilesPerTrigger = 1)"), **REPLACED),
    "fed_changes": "{{ config(materialized='ephemeral') }}\n" + FEED,
    # The apostrophe opens no text.
    "replaced_beyond": stream(
        "{# the feed's #} select * from {{ ref('fed_changes') }}", **REPLACED
    ),
    "narrow": stream(NARROW),
    "bare": stream(UNTYPED),
    "merged": stream(UNTYPED, **MERGED),
    "ticked": stream(f"select id as `ti``ck` from {SOURCE} {{# not is_incremental() #}}"),
    "history": stream(f"select id, seq from {SOURCE}", **HISTORY),
    "told": stream(
        f"select id, seq, note, null as n from {SOURCE}",
        incremental_strategy="cdc",
        unique_key="id",
        cdc=HISTORY["cdc"]
        | {"track_history_column_list": ["note", "n"], "ignore_null_updates": ["n"]},
    ),
    "keyed_nope": stream(f"select * from {SOURCE}", unique_key="nope"),
    "keyed_map": stream(f"select * from {SOURCE}", unique_key="m"),
    "char_merge": stream(f"select id, note from {SOURCE}", **MERGED),
    "char_cdc": stream(f"select id, seq, note from {SOURCE}", **HISTORY),
    "fenced": incremental(table("src"), "id, at", watermark={"column": "at"}),
}
REFUSED = {
    "keyed_nope": 'unique_key: got "nope"; expected a column of the SELECT. Add it to the SELECT',
    "keyed_map": 'unique_key: got "m map<string,int>"; expected a type that can be compared.',
    "char_merge": "merge into column note char(5) of",
    "char_cdc": "cdc into column note char(5) of",
}


@dataclass
class Story:
    """Three runs, and what the tables held behind the second."""

    project: Project
    runs: list[Run] = field(default_factory=list)


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    """The second run has a value that its table cannot hold, and SELECTs that gained types and a column."""
    project = make_project("values", threads=2)
    story = Story(project)
    s = project.schema
    columns = "id int, seq int, amount decimal(17,2), at timestamp, x double, m map<string,int>, note string"
    project.sql(f"create table {s}.src ({columns}) using delta")
    project.sql(
        f"create table {s}.fed (id int, v string) using delta "
        "tblproperties ('delta.enableChangeDataFeed' = 'true')"
    )
    project.sql(f"insert into {s}.fed values (1, 'a')")
    project.source("src", "fed")
    arrive(project, 1, "12.00")
    for name, by_hand in {
        "narrow": "id bigint, amount decimal(17,0), d date, f float",
        "history": "id int, seq int, note string",
        "char_merge": "id int, note char(5)",
        "char_cdc": "id int, seq int, note char(5)",
        # Nobody may write `row_number`, and everybody must write `id`, which is no key of an append.
        "fenced": "row_number bigint generated always as identity, id int not null, at timestamp",
    }.items():
        project.sql(f"create table {s}.{name} ({by_hand}) using delta")
    for name, sql in MODELS.items():
        project.model(name, sql)
    story.runs.append(project.dbt("run"))

    arrive(project, 2, "12.34")
    project.sql(f"insert overwrite {s}.fed values (1, 'b')")
    project.model("bare", stream(TYPED))
    project.model("merged", stream(TYPED, **MERGED))
    project.model("history", stream(f"select id, seq, note from {SOURCE}", **HISTORY))
    with injected(Faults({"fenced": "after: batch_log with .*planned"})):
        story.runs.append(project.dbt("run", "--exclude", *REFUSED))
    for name in ("narrow", "fenced"):
        project.sql(f"create table {s}.{name}_then using delta as select * from {s}.{name}")
    story.runs.append(project.dbt("run", "--full-refresh", "--select", "narrow", "fenced"))
    return story


def arrive(project: Project, number: int, amount: str) -> None:
    project.sql(
        f"insert into {project.schema}.src values ({number}, {number}, {amount}, "
        f"timestamp'2024-05-0{number} 00:00:00', 0.5, map('a', 1), 'n{number}')"
    )


def rows(story: Story, name: str, columns: str) -> list[tuple[object, ...]]:
    found = story.project.sql(f"select {columns} from {story.project.schema}.{name}")
    return sorted(found, key=str)


def test_an_append_stream_changes_no_value(story: Story) -> None:
    """Delta's sink would cast 12.34 to 12; equal values come in the table's types."""
    assert story.runs[0].status["narrow"] == "success", story.runs[0].message["narrow"]
    assert story.runs[1].status["narrow"] == "error"
    said = sentence(story.runs[1].message["narrow"])
    assert (
        "`amount` is decimal(17,0) in the table and cannot hold: 12.34. It is decimal(17,2)" in said
    )
    assert rows(story, "narrow_then", "id, cast(amount as string), cast(d as string), f") == [
        (1, "12", "2024-05-01", 0.5)
    ]
    # The way out that the sentence names.
    assert story.runs[2].status["narrow"] == "success", story.runs[2].message["narrow"]
    assert rows(story, "narrow", "cast(amount as string)") == [("12.00",), ("12.34",)]


def test_columns_without_a_type_wait_for_one(story: Story) -> None:
    for name in ("bare", "merged"):
        assert [run.status[name] for run in story.runs[:2]] == ["success", "success"], name
        assert "the SELECT gives n, l without a type" in sentence(story.runs[0].log)
        assert rows(story, name, "id, n, cast(l as string)") == [(1, None, None), (2, "2", "[2]")]


def test_a_list_may_name_a_column_without_a_type(story: Story) -> None:
    assert [run.status["told"] for run in story.runs[:2]] == ["success", "success"]
    assert rows(story, "told", "id, note, __end_at") == [(1, "n1", None), (2, "n2", None)]


@pytest.mark.parametrize("name", ["replaced", "replaced_in_parts", "replaced_beyond"])
def test_a_row_that_is_overwritten_is_not_deleted(story: Story, name: str) -> None:
    """One commit takes it away and brings another; wherever the feed's option stands, and whatever its limits."""
    assert [run.status[name] for run in story.runs[:2]] == ["success", "success"]
    assert rows(story, name, "id, v, __end_at is null") == [(1, "a", False), (1, "b", True)]
    columns = story.project.sql(f"select * from {story.project.schema}.{name}")[0]
    assert not {"insert", "update_postimage"} & set(columns)


def test_a_backtick_in_a_name(story: Story) -> None:
    assert [run.status["ticked"] for run in story.runs[:2]] == ["success", "success"]
    assert rows(story, "ticked", "`ti``ck`") == [(1,), (2,)]


def test_a_column_that_the_select_gains_is_written(story: Story) -> None:
    assert [run.status["history"] for run in story.runs[:2]] == ["success", "success"]
    assert rows(story, "history", "id, note") == [(1, None), (2, "n2")]


def test_what_a_stream_refuses_before_it_starts(story: Story) -> None:
    for name, said in REFUSED.items():
        assert said in sentence(story.runs[0].message[name]), story.runs[0].message[name]
    for name in ("keyed_nope", "keyed_map"):
        assert not story.project.sql(f"show tables in {story.project.schema} like '{name}'")
    assert rows(story, "char_merge", "id") == []


def test_a_batch_is_given_up_whatever_columns_its_table_has(story: Story) -> None:
    """The commit that keeps a slow run away names no column: identity and NOT NULL are no matter."""
    assert [run.status["fenced"] for run in story.runs] == ["success", "error", "success"]
    assert rows(story, "fenced_then", "id") == [(1,)]
    assert rows(story, "fenced", "id") == [(1,), (2,)]
    states = story.project.ledger("fenced", "kind, state")
    assert [tuple(one) for one in states] == [
        ("first_load", "committed"),
        ("incremental", "failed"),
        ("full_refresh", "committed"),
    ]


def test_a_warning_that_ends_the_node_leaves_no_micro_batch_open(
    make_project: Callable[..., Project],
) -> None:
    """A column without a type and tied events, with --warn-error: the rows are loaded, and the next run goes on."""
    project = make_project("warnings")
    s = project.schema
    project.sql(f"create table {s}.src (id int, seq int, v string) using delta")
    project.sql(f"insert into {s}.src values (1, 1, 'a'), (1, 1, 'b'), (2, 2, 'c')")
    project.source("src")
    project.model("untyped", stream(f"select id, null as n from {SOURCE}"))
    project.model("tied", stream(f"select * from {SOURCE}", **HISTORY))
    said = {"untyped": "the SELECT gives n without a type", "tied": "1 event has the key and"}
    run = project.dbt("--warn-error", "run")
    for name, warning in said.items():
        assert run.status[name] == "error", name
        assert warning in sentence(run.message[name]), run.message[name]
        assert {state for (state,) in project.ledger(name, "state")} == {"committed"}, name
    assert len(project.sql(f"select id from {s}.untyped")) == 3
    run = project.dbt("--warn-error", "run", "--select", "tied")
    assert run.success, run.log[-3000:]
    assert len(project.sql(f"select id from {s}.tied")) == 2
