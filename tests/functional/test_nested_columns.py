"""Structs whose fields stand elsewhere, come or go: they meet by name, in every strategy; and a batch that could not be applied."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.harness import FULL, Project, sentence

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
#: Every way grows; one has each of the two other settings, or all with FLOODMARK_LAB=full.
SETTINGS = {"append": ("grow", "ignore"), "merge": ("grow", "sync")}
MODELS = [
    (way, label) for way in WAYS for label in (MODES if FULL else SETTINGS.get(way, ("grow",)))
]
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


@pytest.mark.long("thrift")
def test_fields_meet_by_name(make_project: Callable[..., Project]) -> None:
    project = make_project("nested")
    project.sql(
        f"create table {project.schema}.ev (id int, n int, s struct<a: string, b: string>) using delta"
    )
    project.source("ev")

    def write(columns: dict[str, str]) -> None:
        for way, label in MODELS:
            # Delta cannot drop a field in place: sync_all_columns refuses it.
            sent = {**columns, "shrunk": STRUCT} if label == "sync" else columns
            project.model(f"{way}_{label}", _model(WAYS[way], sent, MODES[label]))
        for label, columns_ in {
            "swap": {"swapped": columns["swapped"]},
            "grow": {"grown": columns["grown"], "listed": columns["listed"]},
            "shrink": {"shrunk": columns["shrunk"]},
            "retype": {
                "swapped": columns["swapped"].replace("s.a", "s.a" if columns is BEFORE else "1")
            },
        }.items():
            project.model(f"fail_{label}", _model(WAYS["append"], columns_, "fail"))
        project.model(
            "sync_shrink", _model(WAYS["merge"], {"shrunk": columns["shrunk"]}, "sync_all_columns")
        )

    _events(project, 1, 1, 2)
    write(BEFORE)
    project.build()
    write(AFTER)
    _events(project, 2, 1, 2, 3)
    run = project.dbt("run")
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

    assert run.status["fail_swap"] == "success"
    for name, differ in {
        "fail_grow": "new: grown.c, listed.c",
        "fail_shrink": "of another type: shrunk",
        "fail_retype": "of another type: swapped",
    }.items():
        assert (
            f"the SELECT and {project.schema}.{name} differ ({differ}): on_schema_change is 'fail'. "
            "Run with --full-refresh, or set on_schema_change to 'append_new_columns'"
        ) in sentence(run.message[name])
    assert (
        f"the SELECT and {project.schema}.sync_shrink differ (of another type: shrunk): Delta can add columns but not drop "
        "or retype them in place. Run with --full-refresh"
    ) in sentence(run.message["sync_shrink"])


@pytest.mark.parametrize("target", ["session"], scope="module")
def test_what_could_not_be_applied_is_selected_anew(make_project: Callable[..., Project]) -> None:
    """A batch whose MERGE fails on its values was staged: the corrected SELECT is staged in its place."""
    project = make_project("corrected")
    project.sql(
        f"create table {project.schema}.ev (id int, n int, s struct<a: string>) using delta"
    )
    project.source("ev")
    ways = [way for way in WAYS if way != "append" and (FULL or way not in ("filled", "extracts"))]

    def write(value: str) -> None:
        for way in ways:
            project.model(way, _model(WAYS[way], {"v": value}, "ignore"))

    project.sql(f"insert into {project.schema}.ev values (1, 1, named_struct('a', '7'))")
    write("cast(s.a as int)")
    project.build()
    project.sql(f"insert into {project.schema}.ev values (1, 2, named_struct('a', 'eight'))")
    write("s.a")
    run = project.dbt("run")
    for way in ways:
        assert run.status[way] == "error"
    assert "`v` is int in the table and cannot be: eight" in sentence(run.message["merge"])
    write("if(s.a = 'eight', 8, 0)")
    project.build()
    for way in ways:
        assert project.sql(f"select v from {project.schema}.{way} where n = 2") == [(8,)], way
