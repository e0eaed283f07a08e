"""Feeds as they come (Debezium, AWS DMS), kind `version` on a feed, and the generic tests of SCD 2 models."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.functional.test_cdc import held
from tests.harness import Project, table

pytestmark = pytest.mark.long("session")

ROW = "struct<id:bigint,name:string>"
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
    def row(value) -> str:
        fields = (
            "null" if value is None else f"named_struct('id', {value[0]}L, 'name', '{value[1]}')"
        )
        return f"cast({fields} as {ROW})"

    def text(value) -> str:
        return "null" if value is None else repr(value)

    source = "null" if lsn is None else f"named_struct('lsn', {lsn}L)"
    return (
        f"select {text(op)} as op, {row(before)} as before, {row(after)} as after, "
        f"cast({text(ts)} as bigint) as ts_ms, cast({source} as struct<lsn:bigint>) as source"
    )


def test_debezium_and_dms_become_events(make_project: Callable[..., Project]) -> None:
    project = make_project("feeds")
    project.sql(
        f"create table {project.schema}.envelopes using delta as "
        + " union all ".join(envelope(*one) for one in ENVELOPES)
    )
    project.sql(
        f"create table {project.schema}.files using delta as select * from values "
        "(null, 1L, 'a', null), (null, 2L, 'b', '0009'), ('I', 3L, 'c', '0003'), ('U', 1L, 'd', '0004'), "
        "('D', 2L, null, '0005'), ('U', 1L, 'late', '0002') as t(Op, id, name, transact_seq)"
    )
    project.source("envelopes", "files")
    macros = {
        "debezium": f"floodmark.debezium({table('envelopes')[3:-3]}, keep=['ts_ms'])",
        "dms": f"floodmark.dms({table('files')[3:-3]}, sequence='transact_seq', full_load_sequence=\"''\")",
    }
    without = {
        "debezium": ["_operation", "_sequence", "_changed_at", "ts_ms"],
        "dms": ["_operation", "_sequence", "transact_seq"],
    }
    for name, call in macros.items():
        for type_ in (1, 2):
            config = CONFIG.format(watermark="", type=type_, without=without[name])
            project.model(f"{name}_{type_}", f"{config}select * from {{{{ {call} }}}}")
    project.build()
    assert held(project, "debezium_1", "id, name") == {2: [("c",)]}
    assert held(project, "debezium_2", "id, name, __start_at, __end_at") == {
        1: [("a", 10, 40)],
        2: [("b", 20, 25), ("c", 30, None), ("late", 25, 30)],
    }
    assert held(project, "dms_1", "id, name") == {1: [("d",)], 3: [("c",)]}
    assert held(project, "dms_2", "id, name, __start_at, __end_at") == {
        1: [("a", "", "0002"), ("d", "0004", None), ("late", "0002", "0004")],
        2: [("b", "", "0005")],
        3: [("c", "0003", None)],
    }


def test_a_feed_read_by_version(make_project: Callable[..., Project]) -> None:
    project = make_project("versions")
    project.sql(
        f"create table {project.schema}.feed (k string, seq bigint, op string, v string) using delta "
        "tblproperties ('delta.enableChangeDataFeed' = 'true')"
    )
    project.sql(
        f"insert into {project.schema}.feed values ('a', 10, 'u', 'x'), ('b', 10, 'u', 'y'), ('b', 20, 'd', null)"
    )
    project.sql(
        f"create table {project.schema}.state (id bigint, name string) using delta "
        "tblproperties ('delta.enableChangeDataFeed' = 'true')"
    )
    project.sql(f"insert into {project.schema}.state values (1, 'a'), (2, 'b')")
    project.source("feed", "state")
    config = (
        "{{{{ config(materialized='incremental', incremental_strategy='cdc', unique_key='{key}', "
        "watermark={{'kind': 'version'}}, cdc={cdc}) }}}} select * from {{{{ floodmark.changes(source('raw', '{feed}')) }}}}"
    )
    events = {
        "sequence_by": "seq",
        "apply_as_deletes": "op = 'd'",
        "except_column_list": ["op", "seq"],
    }
    project.model("from_feed", config.format(key="k", cdc=events, feed="feed"))
    changes = {
        "sequence_by": "_commit_version",
        "apply_as_deletes": "_change_type = 'delete'",
        "stored_as_scd_type": 2,
    }
    project.model("history", config.format(key="id", cdc=changes, feed="state"))
    project.build()
    assert held(project, "from_feed", "k, v") == {"a": [("x",)]}
    assert held(project, "history", "id, name, __end_at") == {1: [("a", None)], 2: [("b", None)]}
    # The feed's own housekeeping is no event; a table's update and delete are.
    project.sql(f"delete from {project.schema}.feed where k = 'b' and op = 'u'")
    project.sql(
        f"insert into {project.schema}.feed values ('b', 15, 'u', 'late'), ('c', 1, 'u', 'z')"
    )
    project.sql(f"update {project.schema}.state set name = 'c' where id = 1")
    project.sql(f"delete from {project.schema}.state where id = 2")
    project.build()
    assert held(project, "from_feed", "k, v") == {"a": [("x",)], "c": [("z",)]}
    assert held(project, "history", "id, name, __start_at, __end_at") == {
        1: [("a", 1, 2), ("c", 2, None)],
        2: [("b", 1, 3)],
    }


def test_the_generic_tests_find_what_is_wrong(make_project: Callable[..., Project]) -> None:
    project = make_project("generic")
    columns = "(id, __start_at, __end_at)"
    rows = {
        "right": "(1, 1, 2), (1, 2, 4), (1, 6, null), (2, 1, null)",
        "empty_row": "(1, 2, 2)",
        "overlapping": "(1, 1, 5), (1, 3, null)",
        "two_open": "(1, 1, null), (1, 3, null)",
        "with_gap": "(1, 1, 2), (1, 3, null)",
    }
    for name, found in rows.items():
        project.model(name, f"select * from values {found} as t{columns}")
    deletes = "select 1 as id, 4 as at"
    arguments = "{arguments: {unique_key: id}}"
    tests = {
        name: f"      - floodmark.{name}: {arguments}"
        for name in ("scd2_starts_before_ends", "scd2_no_overlap", "scd2_one_current_row")
    }
    tests["scd2_no_gap"] = (
        f"      - floodmark.scd2_no_gap: {{arguments: {{unique_key: [id], deletes: '{deletes}'}}}}"
    )
    body = "\n".join(
        f"  - name: {name}\n    data_tests:\n" + "\n".join(tests.values()) for name in rows
    )
    (project.root / "models" / "tests.yml").write_text(f"models:\n{body}\n")
    run = project.dbt("build")
    failed = {
        (test, name)
        for test in tests
        for name in rows
        for node, status in run.status.items()
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
