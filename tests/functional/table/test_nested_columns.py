"""Structs whose fields stand elsewhere, come or go: they meet by name, in every strategy; and a batch that could not be applied."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.support.harness import FULL, Project, Run, sentence

pytestmark = [pytest.mark.long("thrift"), pytest.mark.edge]

W = "watermark={'column': 'n'}"
WAYS = {
    "append": W,
    "merge": f"{W}, incremental_strategy='merge', unique_key='id'",
    "latest": f"{W}, incremental_strategy='cdc', unique_key='id', cdc={{'sequence_by': 'n'}}",
    "filled": f"{W}, incremental_strategy='cdc', unique_key='id', cdc={{'sequence_by': 'n', 'ignore_null_updates': true}}",
    "history": f"{W}, incremental_strategy='cdc', unique_key='id', cdc={{'sequence_by': 'n', 'stored_as_scd_type': 2}}",
    "extract": "incremental_strategy='snapshot_diff', unique_key='id', snapshot_diff={}",
    "extracts": "incremental_strategy='snapshot_diff', unique_key='id', snapshot_diff={'stored_as_scd_type': 2}",
}
MODES = {"ignore": "ignore", "grow": "append_new_columns", "sync": "sync_all_columns"}
#: Each setting once, and the ways that keep values of their own; or all with FLOODMARK_LAB=full. test_row_values.py has
#: structs that grow in an extract.
SETTINGS = {
    "append": ("grow", "ignore"),
    "merge": ("sync",),
    "filled": ("grow",),
    "history": ("grow",),
}
MODELS = [(way, label) for way in WAYS for label in (MODES if FULL else SETTINGS.get(way, ()))]
#: Ways whose values could not be applied; test_row_values.py has such in the others.
CORRECTED = [way for way in WAYS if way != "append"] if FULL else ["merge"]
STRUCT = "named_struct('a', s.a, 'b', s.b)"
BEFORE = {
    "swapped": STRUCT,
    "grown": STRUCT,
    "shrunk": STRUCT,
    "listed": f"array({STRUCT}, null)",
    "mapped": f"map('k', named_struct('in', {STRUCT}))",
}
MORE = "named_struct('c', 'new', 'b', s.b, 'A', s.a)"
AFTER = {
    "swapped": "named_struct('b', s.b, 'a', s.a)",
    "grown": MORE,
    "shrunk": "named_struct('b', s.b)",
    "listed": f"array({MORE}, null)",
    "mapped": f"map('k', named_struct('in', {MORE}))",
}


def _model(config: str, columns: dict[str, str], mode: str) -> str:
    selected = ", ".join(f"{sql} as {name}" for name, sql in columns.items())
    bounds = (
        "{{ floodmark.watermark_filter() }}"
        if "watermark" in config
        else "n = (select max(n) from {{ source('raw', 'ev') }})"
    )
    return (
        f"{{{{ config(materialized='incremental', on_schema_change='{mode}', {config}) }}}}"
        f"select id, n, {selected} from {{{{ source('raw', 'ev') }}}} where {bounds}"
    )


def _events(project: Project, n: int, *ids: int) -> None:
    rows = ", ".join(f"({i}, {n}, named_struct('a', 'a{i}_{n}', 'b', 'b{i}_{n}'))" for i in ids)
    project.sql(f"insert into {project.schema}.ev values {rows}")


def _expected(way: str, mode: str, i: int) -> dict[str, object]:
    """The second batch's values of key `i`: fields by name, new ones by the setting, missing ones NULL or as they were."""
    plain = {"a": f"a{i}_2", "b": f"b{i}_2"}
    more = plain if mode == "ignore" else plain | {"c": "new"}
    known = f"a{i}_1" if way == "filled" and i < 3 else None
    return {
        "swapped": plain,
        "grown": more,
        "shrunk": {"a": known, "b": f"b{i}_2"},
        "listed": [more, None],
        "mapped": {"k": {"in": more}},
    }


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> tuple[Project, Run]:
    """Two runs, the second with other SELECTs and news, a third with values that could not be applied corrected."""
    project = make_project("nested")
    project.sql(
        f"create table {project.schema}.ev (id int, n int, s struct<a: string, b: string>) using delta"
    )
    project.source("ev")

    def correct(value: str) -> None:
        for way in CORRECTED:
            project.model(f"corrected_{way}", _model(WAYS[way], {"v": value}, "ignore"))

    def write(columns: dict[str, str], corrected: str) -> None:
        for way, label in MODELS:
            # Delta cannot drop a field in place: sync_all_columns refuses it.
            sent = {**columns, "shrunk": STRUCT} if label == "sync" else columns
            project.model(f"{way}_{label}", _model(WAYS[way], sent, MODES[label]))
        retyped = columns["swapped"].replace("s.a", "s.a" if columns is BEFORE else "1")
        for name, columns_ in {
            "fail_swap": {"swapped": columns["swapped"]},
            "fail_differ": {
                "grown": columns["grown"],
                "listed": columns["listed"],
                "shrunk": columns["shrunk"],
                "retyped": retyped,
            },
        }.items():
            project.model(name, _model(WAYS["append"], columns_, "fail"))
        project.model(
            "sync_shrink", _model(WAYS["merge"], {"shrunk": columns["shrunk"]}, "sync_all_columns")
        )
        correct(corrected)

    _events(project, 1, 1, 2)
    write(BEFORE, "7")
    project.build()
    write(AFTER, "s.a")
    _events(project, 2, 1, 2, 3)
    run = project.dbt("run")
    correct("8")
    project.build("--select", *(f"corrected_{way}" for way in CORRECTED))
    return project, run


def test_fields_meet_by_name(story: tuple[Project, Run]) -> None:
    project, run = story
    names = [f"{way}_{label}" for way, label in MODELS]
    assert {name: run.status[name] for name in names} == dict.fromkeys(names, "success")
    for way, label in MODELS:
        values = ", ".join(BEFORE)
        shown = f"to_json(struct({values}), map('ignoreNullFields', 'false'))"
        rows = project.sql(f"select id, {shown} from {project.schema}.{way}_{label} where n = 2")
        expected = {i: _expected(way, MODES[label], i) for i in (1, 2, 3)}
        if label == "sync":
            for i, value in expected.items():
                value["shrunk"] = {"a": f"a{i}_2", "b": f"b{i}_2"}
        assert {i: json.loads(text) for i, text in rows} == expected, (way, label)
    old = f"select distinct grown.c, listed[0].c, mapped['k']['in'].c from {project.schema}.append_grow where n = 1"
    assert project.sql(old) == [(None, None, None)]


def test_fields_that_differ_are_named_where_they_are_refused(story: tuple[Project, Run]) -> None:
    project, run = story
    assert run.status["fail_swap"] == "success"
    assert (
        f"the SELECT and {project.schema}.fail_differ differ "
        "(new: grown.c, listed.c; of another type: shrunk, retyped): on_schema_change is 'fail'. "
        "Run with --full-refresh, or set on_schema_change to 'append_new_columns'"
    ) in sentence(run.message["fail_differ"])
    assert (
        f"the SELECT and {project.schema}.sync_shrink differ (of another type: shrunk): Delta can add columns but not drop "
        "or retype them in place. Run with --full-refresh"
    ) in sentence(run.message["sync_shrink"])


def test_what_could_not_be_applied_is_selected_anew(story: tuple[Project, Run]) -> None:
    """A batch whose MERGE fails on its values was staged: the corrected SELECT is staged in its place."""
    project, run = story
    for way in CORRECTED:
        name = f"corrected_{way}"
        assert run.status[name] == "error"
        found = project.sql(f"select id, v from {project.schema}.{name} where n = 2")
        assert sorted(found) == [(1, 8), (2, 8), (3, 8)], name
    assert "`v` is int in the table and cannot hold: a" in sentence(run.message["corrected_merge"])
