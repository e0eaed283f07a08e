"""Debezium's envelopes whose `before` and `after` are of two types; DMS's full loads without an operation column."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.harness import FULL, Project, sentence, table
from tests.support.rows import held

pytestmark = [pytest.mark.long("session"), pytest.mark.edge]

WHOLE = "id:bigint,name:string,size:int"

#: Name -> the types of before and after, SQL of the `before` of a delete of key 1.
SIDES = {
    "same": (WHOLE, WHOLE, "named_struct('id', 1L, 'name', 'a', 'size', 1)"),
    "key_only": ("id:bigint", WHOLE, "named_struct('id', 1L)"),
    "narrower_key": ("id:int", WHOLE, "named_struct('id', 1)"),
    "wider_key": ("id:decimal(20,0)", WHOLE, "named_struct('id', cast(1 as decimal(20,0)))"),
    "other_order": ("size:int,name:string,id:bigint", WHOLE, "named_struct('size', 1, 'name', 'a', 'id', 1L)"),
    "other_case": ("ID:bigint,Name:string", WHOLE, "named_struct('ID', 1L, 'Name', 'a')"),
    "more_before": (f"{WHOLE},gone:string", WHOLE, "named_struct('id', 1L, 'name', 'a', 'size', 1, 'gone', 'x')"),
    "void_field": ("id:bigint,name:void,size:void", WHOLE, "named_struct('id', 1L, 'name', null, 'size', null)"),
    "nested": (
        "id:bigint,place:struct<zip:string>",
        "id:bigint,name:string,place:struct<city:string,zip:string>",
        "named_struct('id', 1L, 'place', named_struct('zip', '1'))",
    ),
    "odd_names": ("id:bigint", "id:bigint,name:string,`it's-é`:string", "named_struct('id', 1L)"),
}  # fmt: skip


def envelopes(before: str, after: str, deleted: str) -> str:
    """Two inserts, an update and a delete of key 1."""
    rows = [("c", "null", 1, "a", 10), ("r", "null", 2, "b", 20), ("u", "null", 2, "c", 30), ("d", deleted, None, "", 40)]  # fmt: skip
    selects = []
    for op, old, key, name, lsn in rows:
        new = (
            f'from_json(\'{{"id": {key}, "name": "{name}"}}\', \'{_ddl(after)}\')'
            if key
            else "null"
        )
        selects.append(
            f"select '{op}' as op, cast({old} as struct<{before}>) as before, cast({new} as struct<{after}>) as after, "
            f"{lsn}000L as ts_ms, named_struct('lsn', {lsn}L) as source"
        )
    return " union all ".join(selects)


def _ddl(fields: str) -> str:
    return f"struct<{fields}>".replace("'", "\\'")


def config(type_: int, key: object = "id", **cdc: object) -> str:
    settings = {
        "sequence_by": "_sequence",
        "apply_as_deletes": "_operation = 'delete'",
        "stored_as_scd_type": type_,
        "except_column_list": ["_operation", "_sequence", "_changed_at"],
    } | cdc
    return (
        f"{{{{ config(materialized='incremental', incremental_strategy='cdc', unique_key={key!r}, "
        f"cdc={settings!r}) }}}}\n"
    )


def events(side: str) -> str:
    return f"{{{{ floodmark.debezium(source('raw', 'feed_{side}')) }}}}"


#: Sides with models of their own, one for each SCD; all are in `of_all`, whose SELECT names its columns.
ALONE = tuple(SIDES) if FULL else ("odd_names",)
#: Feeds with a side that is a text: the feed, and that side. A column of nulls in the first files is a string for ever.
TEXTS = {"text_before": ("key_only", "before"), "text_after": ("same", "after")}
SIDE_BY_SIDE = " union all ".join(
    f"select '{side}' as side, cast(id as bigint) as id, name, _operation, _sequence, _changed_at "
    f"from {events(side)}"
    for side in (*SIDES, *TEXTS)
)
MODELS = {
    "of_all": f"{config(2, ['side', 'id'])}select * from ({SIDE_BY_SIDE})",
    **{f"one_{side}": f"{config(1)}select * from {events(side)}" for side in ALONE},
    **(
        {f"two_{side}": f"{config(2)}select * from {events(side)}" for side in ALONE}
        if FULL
        else {}
    ),
    "nulls": f"{config(1, ignore_null_updates=True)}select * from {events('key_only')}",
    "part": f"{config(1)}select id, name, _operation, _sequence, _changed_at from "
    "{{ floodmark.debezium(\"(select * from \" ~ source('raw', 'feed_key_only') ~ \" where true)\") }} as f",
    "one_sided": f"{config(1)}select * from {events('one_sided')}",
    # Of a CTE of the model nobody can ask Spark.
    "of_cte": f"{config(1)}with parsed as (select * from {table('feed_same')}) "
    "select * from {{ floodmark.debezium('parsed') }}",
}


def dms(name: str) -> str:
    settings = {
        "sequence_by": "_sequence",
        "apply_as_deletes": "_operation = 'delete'",
        "except_column_list": ["_operation", "_sequence"],
    }
    return (
        "{{ config(materialized='incremental', incremental_strategy='cdc', unique_key='id', "
        f"cdc={settings!r}) }}}}\nselect id, name, _operation, _sequence from {{{{ "
        f"floodmark.dms(source('raw', '{name}'), sequence='at', full_load_sequence=\"''\") }}}}"
    )


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    """All models but the streams, loaded."""
    project = make_project("envelopes")
    for name, sides in SIDES.items():
        project.sql(f"create table {project.schema}.feed_{name} using parquet as {envelopes(*sides)}") if "void" not in sides[0] else (
            project.sql(f"create view {project.schema}.feed_{name} as {envelopes(*sides)}"))  # fmt: skip
    project.sql(
        f"create table {project.schema}.full_load using parquet as select 1L as id, 'a' as name"
    )
    project.sql(
        f"create table {project.schema}.with_changes using parquet as select * from values (null, 1L, 'a', null), "
        "('U', 1L, 'b', '0002'), ('I', 2L, 'c', '0003'), ('D', 2L, null, '0004') as t(op, id, name, at)"
    )
    for name, (feed, side) in TEXTS.items():
        project.sql(
            f"create table {project.schema}.feed_{name} using parquet as select * except ({side}), "
            f"to_json({side}) as {side} from {project.schema}.feed_{feed}"
        )
    project.sql(
        f"create table {project.schema}.feed_one_sided using parquet as select * except (before) "
        f"from {project.schema}.feed_same where op <> 'd'"
    )
    feeds = (*SIDES, *TEXTS, "one_sided")
    project.source(*(f"feed_{name}" for name in feeds), "full_load", "with_changes")
    for name, sql in MODELS.items():
        project.model(name, sql)
    for name in ("full_load", "with_changes"):
        project.model(f"dms_{name}", dms(name))
    project.build()
    return project


def test_a_row_has_what_each_side_has_by_name(project: Project) -> None:
    columns = "concat(side, cast(id as string)) as id, name, __start_at, __end_at"
    expected = {"1": [("a", 10, 40)], "2": [("b", 20, 30), ("c", 30, None)]}
    assert held(project, "of_all", columns) == {
        f"{side}{key}": rows for side in (*SIDES, *TEXTS) for key, rows in expected.items()
    }
    for name in [*(f"one_{side}" for side in ALONE), "nulls", "part", "of_cte"]:
        found = held(project, name, "cast(id as int) as id, name")
        assert found == {2: [("c",)]}, name
    for side in ALONE if FULL else ():
        found = held(project, f"two_{side}", "cast(id as int) as id, name, __start_at, __end_at")
        assert found == {int(key): rows for key, rows in expected.items()}, side
    project.build("--select", *(MODELS if FULL else ("one_odd_names", "part")))


def test_a_feed_without_before(project: Project) -> None:
    """All that came so far are snapshots and updates."""
    assert held(project, "one_sided", "id, name") == {1: [("a",)], 2: [("c",)]}


def test_a_full_load_without_an_operation(project: Project) -> None:
    assert held(project, "dms_full_load", "id, name") == {1: [("a",)]}
    assert held(project, "dms_with_changes", "id, name") == {1: [("b",)]}


def test_an_envelope_of_texts_is_refused(project: Project) -> None:
    feed = "(select op, to_json(before) as before, to_json(after) as after, ts_ms, source from {})"
    feed = feed.format(f"{project.schema}.feed_same")
    project.model("texts", f'{config(1)}select * from {{{{ floodmark.debezium("{feed}") }}}}')
    run = project.dbt("run", "--select", "texts")
    (project.root / "models" / "texts.sql").unlink()
    assert run.status["texts"] == "error"
    assert "are no structs, which debezium() needs: parse them with from_json()" in sentence(
        run.message["texts"]
    )


def test_a_feed_that_is_not_there_yet_renders(project: Project) -> None:
    project.model(
        "later",
        f"{config(1)}select * from {{{{ floodmark.debezium('{project.schema}.nowhere') }}}}",
    )
    run = project.dbt("compile", "--select", "later")
    assert run.success, run.log[-3000:]
    compiled = next((project.root / "target" / "compiled").rglob("later.sql")).read_text()
    assert "if(op = 'd', before, after) as _row" in compiled
    (project.root / "models" / "later.sql").unlink()


@pytest.mark.parametrize("target", ["session"], scope="module")
def test_over_streams(project: Project) -> None:
    project.sql(
        f"create table {project.schema}.topic using delta as {envelopes(*SIDES['key_only'])}"
    )
    (project.root / "topic").mkdir()
    (project.root / "topic" / "a.json").write_text(
        '{"op": "c", "after": {"id": 1, "name": "a"}, "ts_ms": 1, "source": {"lsn": 1}}\n'
        '{"op": "c", "after": {"id": 2, "name": "b"}, "ts_ms": 2, "source": {"lsn": 2}}\n'
        '{"op": "d", "before": {"id": 1}, "ts_ms": 3, "source": {"lsn": 3}}\n'
    )
    schema = "op string, before struct<id: bigint>, after struct<id: bigint, name: string>, ts_ms bigint, source struct<lsn: bigint>"
    feeds = {
        "table_stream": f"stream({project.schema}.topic)",
        "file_stream": f"stream(json.`topic`) with (schema = '{schema}')",
    }
    for name, feed in feeds.items():
        settings = config(1).replace("'incremental'", "'streaming_table'")
        project.model(name, f'{settings}select * from {{{{ floodmark.debezium("{feed}") }}}}')
    project.build("--select", *feeds)
    assert held(project, "table_stream", "id, name") == {2: [("c",)]}
    assert held(project, "file_stream", "id, name") == {2: [("b",)]}
