"""Feeds as they come (Debezium, AWS DMS), kind `version` on a feed, and the generic tests of SCD 2 models."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest

from tests.support.harness import FULL, Project, Run, table
from tests.support.rows import held

pytestmark = [pytest.mark.long("thrift"), pytest.mark.edge]

ROW = "struct<id:bigint,name:string>"
KEY = "struct<id:bigint>"
ENVELOPES = [
    # op, before, after, ts_ms, lsn
    ("r", None, (1, "a"), 1_000, 10),
    ("c", None, (2, "b"), 2_000, 20),
    ("u", (2, "b"), (2, "c"), 3_000, 30),
    ("d", (1, "a"), None, 4_000, 40),
    (None, None, None, None, None),
    ("u", (2, "b"), (2, "late"), 2_500, 25),
]
CONFIG = (
    "{{{{ config(materialized='incremental', incremental_strategy='cdc', unique_key='id', {watermark} cdc={{"
    "'sequence_by': '_sequence', 'apply_as_deletes': \"_operation = 'delete'\", 'stored_as_scd_type': {type},"
    " 'except_column_list': {without}}}) }}}}\n"
)


def envelope(op, before, after, ts, lsn) -> str:
    """A message whose `before` holds the key alone, as PostgreSQL sends it."""

    def text(value) -> str:
        return "null" if value is None else repr(value)

    old = f"named_struct('id', {before[0]}L)" if before else "null"
    new = f"named_struct('id', {after[0]}L, 'name', '{after[1]}')" if after else "null"
    source = "null" if lsn is None else f"named_struct('lsn', {lsn}L)"
    return (
        f"select {text(op)} as op, cast({old} as {KEY}) as before, cast({new} as {ROW}) as after, "
        f"cast({text(ts)} as bigint) as ts_ms, cast({source} as struct<lsn:bigint>) as source"
    )


#: Feeds as they come: the call, and what the table does not get.
FEEDS = {
    "debezium": (
        f"floodmark.debezium({table('envelopes')[3:-3]}, keep=['ts_ms'])",
        ["_operation", "_sequence", "_changed_at", "ts_ms"],
    ),
    "dms": (
        f"floodmark.dms({table('files')[3:-3]}, sequence='transact_seq', full_load_sequence=\"''\")",
        ["_operation", "_sequence", "transact_seq"],
    ),
}
#: An SCD 2 table shows every event; the latest rows of such feeds are in test_cdc_envelopes.py too.
TYPES = (1, 2) if FULL else (2,)


def by_version(key: str, feed: str, columns: str = "*", **cdc: object) -> str:
    return (
        f"{{{{ config(materialized='incremental', incremental_strategy='cdc', unique_key='{key}', "
        f"watermark={{'kind': 'version'}}, cdc={cdc!r}) }}}} "
        f"select {columns} from {{{{ floodmark.changes(source('raw', '{feed}')) }}}}"
    )


BY_VERSION = {
    "from_feed": by_version(
        "k",
        "feed",
        sequence_by="seq",
        apply_as_deletes="op = 'd'",
        except_column_list=["op", "seq"],
    ),
    # The SELECT makes the flag; the feed is one of events all the same.
    "from_flagged_feed": by_version(
        "k",
        "feed",
        "k, v, seq, op = 'd' as is_deleted",
        sequence_by="seq",
        apply_as_deletes="is_deleted",
        except_column_list=["is_deleted", "seq"],
    ),
    "history": by_version(
        "id",
        "state",
        sequence_by="_commit_version",
        apply_as_deletes="_change_type = 'delete'",
        stored_as_scd_type=2,
    ),
}
#: Views that look like SCD 2 tables, most of them wrong.
RANGES = {
    "right": "(1, 1, 2), (1, 2, 4), (1, 6, null), (2, 1, null)",
    "empty_row": "(1, 2, 2)",
    "overlapping": "(1, 1, 5), (1, 3, null)",
    "two_open": "(1, 1, null), (1, 3, null)",
    "with_gap": "(1, 1, 2), (1, 3, null)",
}
GENERIC = ("scd2_starts_before_ends", "scd2_no_overlap", "scd2_one_current_row", "scd2_no_gap")


@dataclass
class Story:
    """The run of everything with its tests, and what the models by version held behind it and behind the next."""

    project: Project
    first: Run
    held: dict[str, list[dict]] = field(default_factory=dict)

    def look(self) -> None:
        columns = {
            "from_feed": "k, v",
            "from_flagged_feed": "k, v",
            "history": "id, name, __start_at, __end_at",
        }
        for name, read in columns.items():
            self.held.setdefault(name, []).append(held(self.project, name, read))


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    project = make_project("feeds")
    s = project.schema
    project.sql(
        f"create table {s}.envelopes using delta as "
        + " union all ".join(envelope(*one) for one in ENVELOPES)
    )
    project.sql(
        f"create table {s}.files using delta as select * from values "
        "(null, 1L, 'a', null), (null, 2L, 'b', '0009'), ('I', 3L, 'c', '0003'), ('U', 1L, 'd', '0004'), "
        "('D', 2L, null, '0005'), ('U', 1L, 'late', '0002') as t(Op, id, name, transact_seq)"
    )
    for name, columns in {
        "feed": "k string, seq bigint, op string, v string",
        "state": "id bigint, name string",
    }.items():
        project.sql(
            f"create table {s}.{name} ({columns}) using delta "
            "tblproperties ('delta.enableChangeDataFeed' = 'true')"
        )
    project.sql(
        f"insert into {s}.feed values ('a', 10, 'u', 'x'), ('b', 10, 'u', 'y'), ('b', 20, 'd', null)"
    )
    project.sql(f"insert into {s}.state values (1, 'a'), (2, 'b')")
    project.source("envelopes", "files", "feed", "state")
    for name, (call, without) in FEEDS.items():
        for type_ in TYPES:
            config = CONFIG.format(watermark="", type=type_, without=without)
            project.model(f"{name}_{type_}", f"{config}select * from {{{{ {call} }}}}")
    for name, sql in BY_VERSION.items():
        project.model(name, sql)
    for name, found in RANGES.items():
        project.model(name, f"select * from values {found} as t(id, __start_at, __end_at)")
    write_tests(project)
    story = Story(project, project.dbt("build"))
    story.look()
    # The feed's own housekeeping is no event; a table's update and delete are.
    project.sql(f"delete from {s}.feed where k = 'b' and op = 'u'")
    project.sql(f"insert into {s}.feed values ('b', 15, 'u', 'late'), ('c', 1, 'u', 'z')")
    project.sql(f"update {s}.state set name = 'c' where id = 1")
    project.sql(f"delete from {s}.state where id = 2")
    project.build("--select", *BY_VERSION)
    story.look()
    return story


def write_tests(project: Project) -> None:
    """Each generic test on each of the views."""
    deletes = "select 1 as id, 4 as at"
    arguments = "{arguments: {unique_key: id}}"
    tests = {name: f"      - floodmark.{name}: {arguments}" for name in GENERIC}
    tests["scd2_no_gap"] = (
        f"      - floodmark.scd2_no_gap: {{arguments: {{unique_key: ['`id`'], deletes: '{deletes}'}}}}"
    )
    body = "\n".join(
        f"  - name: {name}\n    data_tests:\n" + "\n".join(tests.values()) for name in RANGES
    )
    (project.root / "models" / "tests.yml").write_text(f"models:\n{body}\n")


def test_debezium_and_dms_become_events(story: Story) -> None:
    project = story.project
    assert held(project, "debezium_2", "id, name, __start_at, __end_at") == {
        1: [("a", 10, 40)],
        2: [("b", 20, 25), ("c", 30, None), ("late", 25, 30)],
    }
    assert held(project, "dms_2", "id, name, __start_at, __end_at") == {
        1: [("a", "", "0002"), ("d", "0004", None), ("late", "0002", "0004")],
        2: [("b", "", "0005")],
        3: [("c", "0003", None)],
    }
    if FULL:
        assert held(project, "debezium_1", "id, name") == {2: [("c",)]}
        assert held(project, "dms_1", "id, name") == {1: [("d",)], 3: [("c",)]}


def test_a_feed_read_by_version(story: Story) -> None:
    assert story.held["from_feed"] == [{"a": [("x",)]}, {"a": [("x",)], "c": [("z",)]}]
    assert story.held["from_flagged_feed"] == story.held["from_feed"]
    assert story.held["history"] == [
        {1: [("a", 1, None)], 2: [("b", 1, None)]},
        {1: [("a", 1, 2), ("c", 2, None)], 2: [("b", 1, 3)]},
    ]


def test_the_generic_tests_find_what_is_wrong(story: Story) -> None:
    failed = {
        (test, name)
        for test in GENERIC
        for name in RANGES
        for node, status in story.first.status.items()
        if node.startswith(f"floodmark_{test}_{name}_") and status == "fail"
    }
    assert failed == {
        ("scd2_starts_before_ends", "empty_row"),
        ("scd2_no_overlap", "overlapping"),
        ("scd2_no_overlap", "two_open"),
        ("scd2_one_current_row", "two_open"),
        ("scd2_no_gap", "overlapping"),
        ("scd2_no_gap", "with_gap"),
        ("scd2_no_gap", "empty_row"),
    }
