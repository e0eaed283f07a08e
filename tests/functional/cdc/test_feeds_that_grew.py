"""Feeds whose two sides nest otherwise, and feeds that are read from files as they come."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.support.files import land, lines, loader
from tests.support.harness import Project, sentence

pytestmark = [pytest.mark.edge, pytest.mark.long("session")]

BEFORE = "struct<id: int, items: array<struct<b: int, a: int>>, marks: map<string, struct<x: int>>>"
AFTER = "struct<id: int, items: array<struct<a: bigint, c: string>>, marks: map<string, struct<x: int, y: int>>>"


def config(**more: object) -> str:
    cdc = {
        "sequence_by": "_sequence",
        "apply_as_deletes": "_operation = 'delete'",
        "except_column_list": ["_operation", "_sequence", *more.pop("without", [])],
    }
    settings = {"materialized": "incremental", "incremental_strategy": "cdc", "unique_key": "id"}
    settings |= {"cdc": cdc} | more
    return f"{{{{ config({', '.join(f'{key}={value!r}' for key, value in settings.items())}) }}}}\n"


def test_sides_whose_arrays_and_maps_have_other_fields(
    make_project: Callable[..., Project],
) -> None:
    """Each field is taken by its name, of a delete from what was before."""
    project = make_project("nested_sides")
    s = project.schema
    project.source("feed")
    project.sql(
        f"create table {s}.feed (op string, ts_ms bigint, lsn bigint, before {BEFORE}, after {AFTER}) using parquet"
    )
    project.sql(
        f"insert into {s}.feed select 'c', 1, 1, null, named_struct('id', 1, 'items', "
        "array(named_struct('a', 10L, 'c', 'z')), 'marks', map('m', named_struct('x', 1, 'y', 2)))"
    )
    project.sql(
        f"insert into {s}.feed select 'd', 1, 2, named_struct('id', 2, 'items', "
        "array(named_struct('b', 20, 'a', 30)), 'marks', map('m', named_struct('x', 3))), null"
    )
    feed = "floodmark.debezium(source('raw', 'feed'), sequence='lsn')"
    project.model("shown", f"select * from {{{{ {feed} }}}}")
    project.model("latest", f"{config(without=['_changed_at'])}select * from {{{{ {feed} }}}}")
    project.build()
    assert project.rows("shown", "id, _operation as op, items, marks") == {
        ('{"id":1,"op":"insert","items":[{"a":10,"c":"z"}],"marks":{"m":{"x":1,"y":2}}}',): 1,
        ('{"id":2,"op":"delete","items":[{"a":30,"b":20}],"marks":{"m":{"x":3}}}',): 1,
    }
    assert project.sql(f"select id from {s}.latest") == [(1,)]


def test_rows_of_dms_in_the_files_of_a_batch(make_project: Callable[..., Project]) -> None:
    """Nobody knows their columns before the batch is read: a delete is no insert of a full load."""
    project = make_project("dms_files")
    feed = "floodmark.dms(floodmark.new_files(), sequence='at', full_load_sequence=\"''\")"
    files = {"path": "landing", "format": "json"}
    project.model(
        "latest",
        f"{config(files=files, without=['at'])}select * except (_metadata) from {{{{ {feed} }}}}",
    )
    land(
        project.root / "landing",
        {
            "1.json": lines(
                {"Op": None, "id": 1, "name": "a", "at": None},
                {"Op": "I", "id": 2, "name": "b", "at": "1"},
            )
        },
    )
    project.build()
    land(
        project.root / "landing",
        {
            "2.json": lines(
                {"Op": "U", "id": 1, "name": "c", "at": "2"},
                {"Op": "D", "id": 2, "name": None, "at": "3"},
            )
        },
    )
    project.build()
    assert project.sql(f"select id, name from {project.schema}.latest") == [("1", "c")]
    assert "Op" not in [row[0] for row in project.sql(f"describe {project.schema}.latest")]


def test_envelopes_in_files_without_types(make_project: Callable[..., Project]) -> None:
    """Every leaf is a string: the sequence is a number all the same, over a bronze model and over the files.

    Over the files nobody knows their columns, so two sides of other fields are told of what helps. A side that no file has
    is NULL.
    """
    project = make_project("text_envelopes")

    def envelope(op: str, lsn: int, before: object, after: object) -> dict[str, object]:
        return {"op": op, "ts_ms": 1_000 * lsn, "source": {"lsn": lsn}, "before": before, "after": after}  # fmt: skip

    first, last = {"id": 1, "name": "a"}, {"id": 1, "name": "b"}
    for folder, key in {"whole": first, "keys": {"id": 1}}.items():
        feed = [envelope("u", 9, key, first), envelope("u", 10, key, last)]
        land(project.root, {f"{folder}/1.json": lines(*feed)})
    new = [envelope("c", 9, None, first), envelope("c", 10, None, {"id": 2, "name": "c"})]
    for one in new:
        del one["before"]
    land(project.root, {"new/1.json": lines(*new)})
    project.model("bronze", loader("keys"))
    without = ["_changed_at"]
    project.model("silver", f"{config()}select * from {{{{ floodmark.debezium(ref('bronze')) }}}}")
    over_files = "select * from {{ floodmark.debezium(floodmark.new_files()) }}"
    project.model("straight", config(files={"path": "whole"}, without=without) + over_files)
    project.model("inserted", config(files={"path": "new"}, without=without) + over_files)
    project.model("sided", config(files={"path": "keys"}, without=without) + over_files)
    run = project.dbt("run")
    assert {name for name, status in run.status.items() if status != "success"} == {"sided"}
    said = sentence(run.message["sided"])
    assert (
        "before is struct<id:string> and after is struct<id:string,name:string>. debezium()" in said
    )
    assert "give before and after one type in files.schema_hints" in said
    hints = "before struct<id: string, name: string>, after struct<id: string, name: string>"
    files = {"path": "keys", "schema_hints": hints}
    project.model("sided", config(files=files, without=without) + over_files)
    project.build("--select", "sided")
    for name in ("silver", "straight", "sided"):
        assert project.sql(f"select id, name from {project.schema}.{name}") == [("1", "b")], name
    inserted = project.sql(f"select id, name from {project.schema}.inserted order by id")
    assert inserted == [("1", "a"), ("2", "c")]
    (at,) = project.sql(f"select unix_seconds(_changed_at) from {project.schema}.silver")
    assert at == (10,)
