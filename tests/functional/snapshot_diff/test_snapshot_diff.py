"""SEMANTICS.md, "Snapshots": every rule by name, and random series of snapshots against an oracle in plain Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.faults import Faults, injected, once
from tests.support.golden import golden
from tests.support.harness import FILTERED, FULL, Project, incremental, sentence, table, values
from tests.support.rows import by_first, held
from tests.support.snapshot_oracle import Snapshot, scd1, scd2
from tests.support.snapshots import add, diff, land, random_series, whole

pytestmark = pytest.mark.long("session")

BOTH = (1, 2)


@pytest.fixture(scope="module")
def shared(make_project: Callable[..., Project]) -> Project:
    """A project of the tests that need one run of models of their own."""
    project = make_project("shared")
    project.source("snaps", "typed_src")
    return project


def test_the_example_of_the_rules(shared: Project) -> None:
    project = shared
    snapshots = golden("snapshot_diff", "snapshots")
    series: list[Snapshot] = [
        (version, {str(key): tuple(row) for at, key, *row in snapshots if at == version})
        for version in (1, 2)
    ]
    land(project, "snaps", series, "a string, b string")
    models = {
        "excepted": diff("snaps", stored_as_scd_type=2, except_columns="b"),
        "by_a": diff("snaps", compare_columns=["a"]),
    }
    if FULL:
        models |= {
            "tracked": diff("snaps", stored_as_scd_type=2, compare_columns=["a"]),
            "latest": diff("snaps"),
        }
    for name, sql in models.items():
        project.model(name, sql)
    project.build("--select", *models)
    expected = by_first((str(key), *row) for key, *row in golden("snapshot_diff", "history"))
    for model in ("tracked", "excepted") if FULL else ("excepted",):
        assert held(project, model, "k, a, b, __start_at, __end_at") == expected
    assert scd2(series, compared=[0]) == expected
    if FULL:
        assert held(project, "latest", "k, a, b") == {
            "2": [("a2x", "b2")],
            "3": [("a3", "b3")],
            "4": [("a4", "b4x")],
        }
    compared_by_a = golden("snapshot_diff", "compared_by_a")
    assert held(project, "by_a", "k, a, b") == by_first(
        (str(key), *row) for key, *row in compared_by_a
    )
    columns = [row[0] for row in project.sql(f"describe {project.schema}.excepted")]
    assert columns == ["v", "k", "a", "b", "__start_at", "__end_at", "_floodmark_hash"]
    assert project.ledger(
        "by_a", "batch_id, kind, high, rows_read, rows_inserted, rows_updated, rows_deleted"
    ) == [
        (1, "first_load", "1", 3, 3, 0, 0),
        (2, "incremental", "2", 3, 1, 1, 1),
    ]


@pytest.mark.edge
def test_random_series_end_as_the_oracle_says(make_project: Callable[..., Project]) -> None:
    """Snapshots of 300 keys, three or, with FLOODMARK_LAB=full, six: one, then two in one run, then the others; the last run again.

    The list of changes is the feed of cdc models.
    """
    project = make_project("random")
    series = random_series(7, 300, 6 if FULL else 3)
    land(project, "snaps", series[:1], "a string, b string, n int")
    project.source("snaps")
    ways: dict[str, dict[str, Any]] = {
        "delete_1": {},
        "mark_1": {"on_missing": "mark"},
        "tracked_2": {"stored_as_scd_type": 2, "compare_columns": ["a", "n"]},
        "changes": {"output": "changes"},
    }
    if FULL:
        ways |= {
            "ignore_1": {"on_missing": "ignore"},
            "delete_2": {"stored_as_scd_type": 2},
            "ignore_2": {"stored_as_scd_type": 2, "on_missing": "ignore"},
        }
    for name, settings in ways.items():
        project.model(name, diff("snaps", **settings))
    onward = BOTH if FULL else (2,)
    for scd in onward:
        events = {
            "sequence_by": "v",
            "apply_as_deletes": "_change_type = 'delete'",
            "stored_as_scd_type": scd,
            "column_list": ["k", "a", "b", "n"],
        }
        project.model(
            f"onward_{scd}",
            "{{ config(materialized='incremental', incremental_strategy='cdc', unique_key='k', "
            f"watermark={{'column': 'v', 'gaps': 'ignore'}}, cdc={events!r}) }}}}\n"
            "select v, k, a, b, n, _change_type from {{ ref('changes') }} where {{ floodmark.watermark_filter() }}",
        )
    project.build()
    for more in (series[1:3], series[3:]):
        if more:
            add(project, "snaps", more)
            project.build(*FILTERED)
    quiet = ("delete_1", "tracked_2")
    again = project.build("--select", *quiet)
    assert {again.message[name] for name in quiet} == {"SNAPSHOT_DIFF nothing new"}
    for name, settings in ways.items():
        missing = settings.get("on_missing", "delete")
        if name.endswith("_1"):
            marks = ", __is_missing, __missing_at" if missing == "mark" else ""
            rows = {key: [row] for key, row in scd1(series, missing).items()}
            assert held(project, name, f"k, a, b, n{marks}") == rows, name
        elif name.endswith("_2"):
            compared = [0, 2] if "compare_columns" in settings else None
            history = {
                k: sorted(rows, key=repr) for k, rows in scd2(series, missing, compared).items()
            }
            assert held(project, name, "k, a, b, n, __start_at, __end_at") == history, name
    # The changes, applied in their order, give the table; each has the hash of the one before.
    state: dict[str, tuple[Any, ...]] = {}
    hashes: dict[str, str | None] = {}
    for key, a, b, n, change, old, new, at, version in project.sql(
        "select k, a, b, n, _change_type, _old_hash, _new_hash, _changed_at, v "
        f"from {project.schema}.changes order by _changed_at"
    ):
        assert at == version
        assert (change == "insert") == (key not in state), (key, change)
        assert old == hashes.get(key) != new, (key, change)
        hashes[key] = new
        if change == "delete":
            del state[key]
        else:
            state[key] = (a, b, n)
    assert state == scd1(series)
    if FULL:
        rows = {key: [row] for key, row in scd1(series).items()}
        assert held(project, "onward_1", "k, a, b, n") == rows
    history = {key: sorted(rows, key=repr) for key, rows in scd2(series).items()}
    assert held(project, "onward_2", "k, a, b, n, __start_at, __end_at") == history


def test_only_what_changed_is_written(make_project: Callable[..., Project]) -> None:
    """Without a watermark: no commit for an unchanged snapshot, the same version again, or one of NULLs like before."""
    project = make_project("quiet")
    project.sql(
        f"create table {project.schema}.src (v int, k string, a string, b double) using delta"
    )
    project.sql(
        f"insert into {project.schema}.src values (1, 'k1', null, 0.0), (1, 'k2', '', double('NaN'))"
    )
    project.source("src")
    models = {"scd1_timed": 1, "scd2_versioned": 2}
    if FULL:
        models |= {"scd1_versioned": 1, "scd2_timed": 2}
    for name, scd in models.items():
        version = {"version": "v"} if name.endswith("versioned") else {}
        select = "*" if version else "k, a, b"
        project.model(name, whole("src", select, stored_as_scd_type=scd, **version))
    project.build()
    before = {name: project.version(name) for name in models}
    project.sql(f"update {project.schema}.src set v = 2, b = if(k = 'k1', -0.0D, b)")
    project.build()
    assert {name: project.version(name) for name in models} == before
    assert project.mark("scd2_versioned") == "2"
    project.sql(f"update {project.schema}.src set a = 'same version again'")
    project.build()
    for name in models:
        assert project.version(name) - before[name] == (0 if name.endswith("versioned") else 1), (
            name
        )
    # NULL is not '': k1 had NULL, k2 ''.
    project.sql(f"update {project.schema}.src set v = 3, a = if(k = 'k1', '', null)")
    project.build()
    assert held(project, "scd1_timed", "k, a") == {"k1": [("",)], "k2": [(None,)]}
    rows = held(project, "scd2_versioned", "k, a, __start_at, __end_at")
    assert rows == {"k1": [("", 3, None), (None, 1, 3)], "k2": [("", 1, 3), (None, 3, None)]}
    if FULL:
        starts = project.sql(
            "select count(*), count_if(__end_at is null), count_if(__start_at < current_timestamp()) "
            f"from {project.schema}.scd2_timed"
        )
        assert starts == [(6, 2, 6)]


@pytest.mark.edge
def test_what_is_refused_leaves_the_table(make_project: Callable[..., Project]) -> None:
    """Empty, doubled, keyless, mixed, older, thinned out: each is told before anything is written, and mended by the next."""
    project = make_project("refused")
    good = [(5, f"k{i}", "a") for i in range(10)]
    bad: dict[str, tuple[list[tuple[Any, ...]], str]] = {
        "empty": (
            [],
            "the snapshot is empty. Nothing was written: if all rows are really gone, set snapshot_diff.allow_empty",
        ),
        "doubled": (
            [
                *good,
                (5, "k3", "b"),
                (5, "k3", "a"),
                (5, "new", "a"),
                (5, "new", "a"),
                (5, "k4", "a"),
                (5, None, "a"),
            ],
            '1 row has no k; 3 keys come more than once in the snapshot: {"k":"k3"}, {"k":"k4"}, {"k":"new"}',
        ),
        "mixed": (
            [*good[:9], (6, "k9", "a")],
            "the SELECT gives more than one v, from 5 to 6. Nothing was written: a snapshot has one. Select one",
        ),
        "older": (
            [(4, *row[1:]) for row in good],
            "the snapshot is of v 4, but 5 is loaded already. Nothing was written: versions must ascend",
        ),
        "thinned": (
            [(6, *row[1:]) for row in good[:7]],
            '3 of 10 keys are missing from the snapshot: {"k":"k7"}, {"k":"k8"}, {"k":"k9"}',
        ),
        "outside": (
            [(6, *row[1:]) for row in good] + [(6, "elsewhere", "a")],
            "1 row of the snapshot lies outside of its scope (k like 'k%')",
        ),
    }
    if FULL:  # test_snapshot_state.py has one where no row has a version
        bad["unversioned"] = ([*good[:9], (None, "k9", "a")], "1 row has no v. Nothing was written")
    project.source(*[f"src_{name}" for name in bad])
    types = {name: BOTH if FULL else (1 + i % 2,) for i, name in enumerate(bad)}
    for name in bad:
        # what is loaded has another version than the bad snapshot, which else were known
        first = [
            (1 if name in ("mixed", "doubled", "unversioned") else row[0], *row[1:]) for row in good
        ]
        project.sql(
            f"create table {project.schema}.src_{name} (v int, k string, a string) using delta"
        )
        project.sql(f"insert into {project.schema}.src_{name} values {values(first)}")
        for scd in types[name]:
            limits: dict[str, Any] = {"max_delete_fraction": 0.2} if name == "thinned" else {}
            limits |= {"scope": "k like 'k%'"} if name == "outside" else {}
            project.model(
                f"{name}_{scd}", whole(f"src_{name}", stored_as_scd_type=scd, version="v", **limits)
            )
    project.build()
    models = [f"{name}_{scd}" for name in bad for scd in types[name]]
    before = {model: (project.version(model), project.mark(model)) for model in models}
    for name, (rows, _) in bad.items():
        project.sql(f"delete from {project.schema}.src_{name}")
        if rows:
            project.sql(f"insert into {project.schema}.src_{name} values {values(rows)}")
    misnamed = whole("src_outside", scope="region = 'N'", compare_columns=["b"])
    project.model("misnamed", misnamed)
    run = project.dbt("run")
    for told in (
        "2 problems",
        "snapshot_diff.scope: got \"region = 'N'\"; expected a condition of the SELECT's columns (v, k, a). ",
        'snapshot_diff.compare_columns: got "b"; expected columns of the SELECT other than the key',
    ):
        assert told in sentence(run.message["misnamed"]), run.message["misnamed"]
    for name, (_, told) in bad.items():
        for scd in types[name]:
            assert run.status[f"{name}_{scd}"] == "error"
            assert told in sentence(run.message[f"{name}_{scd}"]), run.message[f"{name}_{scd}"]
    assert {model: (project.version(model), project.mark(model)) for model in models} == before
    assert project.ledger("empty_1", "state, error")[-1] == ("failed", "the snapshot is empty")
    left = [
        row[1]
        for row in project.sql(f"show tables in {project.schema}_floodmark")
        if "stage__" in row[1]
    ]
    assert left == []
    for name in bad:
        project.sql(f"delete from {project.schema}.src_{name}")
        mended = [(7, *row[1:]) for row in good[:9]] + [(7, "k_new", "a")]
        project.sql(f"insert into {project.schema}.src_{name} values {values(mended)}")
    again = models if FULL else models[:2]
    project.build("--select", *again)
    for model in again:
        end = ", __end_at" if model.endswith("2") else ""
        assert held(project, model, f"k, a{end}").keys() >= {"k0", "k_new"}, model
        if not end:
            assert len(held(project, model, "k, a")) == 10


@pytest.mark.edge
def test_empty_snapshots_where_they_are_allowed(make_project: Callable[..., Project]) -> None:
    project = make_project("emptied")
    project.sql(f"create table {project.schema}.src (k string, a string) using delta")
    project.sql(f"insert into {project.schema}.src values ('k1', 'a'), ('k2', 'b')")
    project.source("src")
    #: model -> rows behind the empty snapshot
    models = {"delete_1": 0, "ignore_1": 2, "mark_2": 2}
    if FULL:
        models |= {"delete_2": 2, "mark_1": 2, "ignore_2": 2}
    for model in models:
        missing, scd = model.split("_")
        settings = {"stored_as_scd_type": int(scd), "on_missing": missing, "allow_empty": True}
        project.model(model, whole("src", **settings))
    project.build()
    project.sql(f"delete from {project.schema}.src")
    project.build()
    emptied = project.version("delete_1")
    project.build("--select", "delete_1")
    assert project.version("delete_1") == emptied
    count = {m: project.sql(f"select count(*) from {project.schema}.{m}")[0][0] for m in models}
    assert count == models
    marked = [model for model in models if model.startswith("mark")]
    for model in marked:
        assert project.sql(
            f"select count_if(__is_missing and __missing_at is not null) from {project.schema}.{model}"
        ) == [(2,)]
    if FULL:
        assert project.sql(f"select count(__end_at) from {project.schema}.delete_2") == [(2,)]
    assert project.sql(f"select count(__end_at) from {project.schema}.mark_2") == [(0,)]
    project.sql(f"insert into {project.schema}.src values ('k1', 'a')")
    project.build(*([] if FULL else ["--exclude", "ignore_1"]))
    for model in marked:
        found = held(project, model, "k, a, __is_missing, __missing_at is null")
        assert found["k1"] == [("a", False, True)]
    assert held(project, "mark_2", "k, __end_at")["k1"] == [(None,)]
    assert held(project, "delete_1", "k, a") == {"k1": [("a",)]}
    if FULL:
        assert len(held(project, "delete_2", "k, a")["k1"]) == 2


@pytest.mark.edge
def test_scopes_of_one_version_are_snapshots_of_their_own(
    make_project: Callable[..., Project],
) -> None:
    """One region's extract after the other into one table. Each is loaded, and skipped where it comes again; as many keys as
    max_delete_fraction allows may go; a key that moves from one region to the other stays one row.
    """
    project = make_project("scopes")
    s = project.schema
    project.sql(
        f"create table {s}.src using delta as select 1 as d, 'k' || id as k, if(id < 100, 'N', 'S') as region, "
        "1 as a from range(200)"
    )
    project.source("src")
    scope = "var('scope', 'true')"
    models = {"by_region": 2} | ({"latest": 1} if FULL else {})
    for name, scd in models.items():
        project.model(
            name,
            whole(
                "src",
                where="where {{ " + scope + " }}",
                stored_as_scd_type=scd,
                version="d",
                scope="@",
                max_delete_fraction=0.29,
            ).replace("'@'", scope),
        )

    def load(region: str) -> str:
        return project.build("--vars", f"{{scope: region = '{region}'}}").message["by_region"]

    load("N")
    assert "100 inserted" in load("S")
    again = project.version("by_region")
    project.sql(f"update {s}.src set a = 2 where k = 'k1'")
    load("N")
    assert project.version("by_region") == again
    project.sql(f"update {s}.src set d = 2, region = if(k = 'k150', 'N', region)")
    project.sql(f"delete from {s}.src where cast(substr(k, 2) as int) < 29 or k = 'k160'")
    load("N")
    assert project.sql(f"select count(*) from {s}.by_region where __end_at is null") == [(171,)]
    assert project.sql(f"select count(*) from {s}.by_region where __end_at = 2") == [(30,)]
    rows = held(project, "by_region", "k, region, __end_at")
    assert rows["k150"] == [("N", None), ("S", 2)]
    assert rows["k160"] == [("S", None)]
    if FULL:
        latest = held(project, "latest", "k, region")
        assert len(latest) == 171
        assert (latest["k150"], latest["k160"]) == ([("N",)], [("S",)])


@pytest.mark.edge
def test_a_key_that_changes_its_scope_in_a_list_of_changes(
    make_project: Callable[..., Project],
) -> None:
    """Within one version it goes from one scope and comes to the other: it is there, also in a cdc model that looks back
    for the second part of the version.
    """
    project = make_project("moves")
    s = project.schema
    project.sql(f"create table {s}.src (d int, k string, region string) using delta")
    project.sql(f"insert into {s}.src values (1, 'k', 'N'), (1, 'n', 'N'), (1, 's', 'S')")
    project.source("src")
    scope = "var('scope', 'true')"
    project.model(
        "listed",
        whole(
            "src", where="where {{ " + scope + " }}", version="d", scope="@", output="changes"
        ).replace("'@'", scope),
    )

    events = {
        "sequence_by": "_changed_at",
        "apply_as_deletes": "_change_type = 'delete'",
        "column_list": ["k", "region"],
    }
    project.model(
        "onward",
        "{{ config(materialized='incremental', incremental_strategy='cdc', unique_key='k', watermark={'column': '_changed_at', "
        f"'lookback': 1, 'gaps': 'ignore'}}, cdc={events!r}) }}}}\n"
        "select * from {{ ref('listed') }} where {{ floodmark.watermark_filter() }}",
    )

    def load(regions: str = "NS") -> None:
        for region in regions:
            project.build("--vars", f"{{scope: region = '{region}'}}")

    project.build()
    project.sql(f"update {s}.src set d = 2, region = if(k = 'k', 'S', region)")
    load()
    assert held(project, "onward", "k, region") == {"k": [("S",)], "n": [("N",)], "s": [("S",)]}
    project.sql(f"update {s}.src set d = 3")
    load("NS" if FULL else "N")
    changes = "_change_type, _changed_at, region"
    assert sorted(held(project, "listed", f"k, {changes}")["k"]) == [
        ("delete", 2, None),
        ("insert", 1, "N"),
        ("insert", 2, "S"),
    ]
    project.sql(f"delete from {s}.src where k = 'k'")
    project.sql(f"update {s}.src set d = 4")
    load("S")
    assert ("delete", 4, None) in held(project, "listed", f"k, {changes}")["k"]
    assert set(held(project, "onward", "k, region")) == {"n", "s"}


@pytest.mark.edge
def test_keys_and_values_of_every_type(shared: Project) -> None:
    project = shared
    project.sql(
        f"create table {project.schema}.typed_src (v int, k1 decimal(10, 2), k2 timestamp, bytes binary, nested struct<x: int, y: array<string>>, "
        "named map<string, double>, listed array<double>, at timestamp, day date, small tinyint, flag boolean, ntz timestamp_ntz) using delta"
    )

    row = {
        "k2": "timestamp'2026-01-01 00:00:00.000001Z'",
        "bytes": "X'00ff'",
        "nested": "named_struct('x', 1, 'y', array('a', null))",
        "named": "map('m', double('NaN'))",
        "listed": "array(double(-0.0))",
        "at": "timestamp'2026-07-01 12:00:00Z'",
        "day": "date'2026-01-01'",
        "small": "1",
        "flag": "true",
        "ntz": "timestamp_ntz'2026-01-01 00:00:00'",
    }
    changed = {
        "bytes": "X'00fe'",
        "nested": "named_struct('x', 1, 'y', array('a', ''))",
        "named": "map('m', double('Infinity'))",
        "listed": "array(double(0.0), null)",
        "at": "timestamp'2026-07-01 12:00:00.000001Z'",
        "day": "date'2026-01-02'",
        "small": "null",
        "flag": "false",
        "ntz": "timestamp_ntz'2026-01-01 00:00:00.000001'",
    }

    def put(version: int, rows: list[dict[str, str]]) -> None:
        selects = [
            f"select {version}, {number}.10, {', '.join((row | changes).values())}"
            for number, changes in enumerate(rows)
        ]
        project.sql(f"insert into {project.schema}.typed_src {' union all '.join(selects)}")

    same = len(changed)
    put(1, [{}] * (same + 1))
    # Each key has another column changed, the last an equal value; the first comes with another second part too.
    put(2, [*({name: value} for name, value in changed.items()), {"listed": "array(double(0.0))"}])
    project.sql(
        f"insert into {project.schema}.typed_src select 2, 0.10, "
        + ", ".join((row | {"k2": "timestamp'2026-01-01 00:00:00.000002Z'"}).values())
    )
    project.model("typed", diff("typed_src", key=["k1", "k2"], stored_as_scd_type=2))
    project.build("--select", "typed")
    found = project.sql(
        f"select cast(k1 as string), __start_at, __end_at from {project.schema}.typed"
    )
    runs = [(f"{i}.10", *run) for i in range(len(changed)) for run in ((1, 2), (2, None))]
    assert Counter(found) == Counter([*runs, (f"{same}.10", 1, None), ("0.10", 2, None)])
    # The key that came has the values that all had first.
    hashes = f"select count(distinct _floodmark_hash) from {project.schema}.typed"
    assert project.sql(hashes) == [(1 + len(changed),)]


@pytest.mark.edge
def test_columns_that_come_and_go(make_project: Callable[..., Project]) -> None:
    """A new column makes no row a change unless asked; one that is dropped is named; other columns to compare change no row."""
    project = make_project("columns")
    project.sql(f"create table {project.schema}.src (k string, a string, b string) using delta")
    project.sql(f"insert into {project.schema}.src values ('k1', 'a', 'b'), ('k2', 'a', 'b')")
    project.source("src")
    modes = ("ignore", "append_new_columns", "sync_all_columns")

    def write(scd: int, mode: str, **settings: Any) -> None:
        project.model(
            f"{mode}_{scd}",
            whole("src", stored_as_scd_type=scd, config={"on_schema_change": mode}, **settings),
        )

    made = [(scd, mode) for scd in BOTH for mode in modes if FULL or scd == 2 or mode == "ignore"]
    for scd, mode in made:
        write(scd, mode)
    project.build()
    project.sql(f"alter table {project.schema}.src add columns (c string)")
    project.sql(f"update {project.schema}.src set c = 'new'")
    project.sql(f"update {project.schema}.src set a = 'a2' where k = 'k2'")
    project.build()
    for scd in BOTH:
        end = " where __end_at is null" if scd == 2 else ""
        assert "c" not in [row[0] for row in project.sql(f"describe {project.schema}.ignore_{scd}")]
        for mode in modes[1:]:
            if (scd, mode) in made:
                filled = f"select k, c from {project.schema}.{mode}_{scd}{end} order by k"
                kept = None if mode == "append_new_columns" else "new"
                assert project.sql(filled) == [("k1", kept), ("k2", "new")], (mode, scd)
    assert len(held(project, "append_new_columns_2", "k")["k1"]) == 1
    assert len(held(project, "sync_all_columns_2", "k")["k1"]) == 2
    quiet = {f"{mode}_{scd}": project.version(f"{mode}_{scd}") for scd, mode in made}
    project.build()
    assert {name: project.version(name) for name in quiet} == quiet

    # One that is empty makes no row a change, even where it is asked for; compare_columns cannot ask for what the table does not get.
    project.sql(f"alter table {project.schema}.src add columns (d string)")
    wanted = {"compare_columns": ["a", "b", "c", "d"]}
    project.model("ignore_2", whole("src", stored_as_scd_type=2, **wanted))
    project.model(
        "append_new_columns_2",
        whole(
            "src",
            stored_as_scd_type=2,
            config={"on_schema_change": "append_new_columns"},
            **wanted,
        ),
    )
    counts = {name: len(project.sql(f"select 1 from {project.schema}.{name}")) for name in quiet}
    run = project.dbt("run")
    assert (
        f'snapshot_diff.compare_columns: got "c"; expected columns of {project.schema}.ignore_2. It is new: set '
        "on_schema_change to 'append_new_columns', or run once with --full-refresh"
    ) in sentence(run.message["ignore_2"])
    assert {name for name, status in run.status.items() if status == "error"} == {"ignore_2"}
    #: c was not compared before, and k1 has a value there
    counts["append_new_columns_2"] += 1
    assert {
        name: len(project.sql(f"select 1 from {project.schema}.{name}")) for name in quiet
    } == counts
    write(2, "ignore")

    # A column goes: named, kept, and no row is a change by it.
    for scd in BOTH:
        project.model(f"ignore_{scd}", whole("src", "k, a", stored_as_scd_type=scd))
    project.sql(f"update {project.schema}.src set a = 'a3' where k = 'k2'")
    run = project.build("--select", "ignore_1", "ignore_2")
    taken = ", new rows take the value of their key's open row"
    for more in ("", taken):
        assert (
            f"the SELECT no longer has b: rows keep the value they have{more}, and all are compared without it"
            in sentence(run.log)
        )
    assert held(project, "ignore_1", "k, a, b") == {"k1": [("a", "b")], "k2": [("a3", "b")]}
    assert held(project, "ignore_2", "k, a, b") == {
        "k1": [("a", "b")],
        "k2": [("a", "b"), ("a2", "b"), ("a3", "b")],
    }
    run = project.build("--select", "ignore_1", "ignore_2")
    assert "any more" not in run.log
    for scd in BOTH:
        project.model(
            f"ignore_{scd}",
            whole("src", "k, a", stored_as_scd_type=scd, config={"on_schema_change": "fail"}),
        )
    project.sql(f"update {project.schema}.src set a = 'a4' where k = 'k2'")
    run = project.dbt("run", "--select", "ignore_1")
    assert "differ (gone: b): on_schema_change is 'fail'" in sentence(run.log)

    # It is still known as compared after a run that was refused, though no row had changed.
    fails = {"on_schema_change": "fail"}
    project.model("strict", whole("src", "k, a, b", config=fails))
    project.build("--select", "strict")
    project.model("strict", whole("src", "k, a", config=fails))
    run = project.dbt("run", "--select", "strict")
    assert "differ (gone: b): on_schema_change is 'fail'" in sentence(run.log)
    project.model("strict", whole("src", "k, a"))
    run = project.build("--select", "strict")
    assert "the SELECT no longer has b: rows keep the value they have" in sentence(run.log)


@pytest.mark.edge
def test_a_table_of_other_settings_is_refused(make_project: Callable[..., Project]) -> None:
    project = make_project("other")
    project.sql(
        f"create table {project.schema}.src (v int, k string, k2 string, a string) using delta"
    )
    project.sql(f"insert into {project.schema}.src values (1, 'k1', 'x', 'a')")
    project.sql(
        f"create table {project.schema}.by_hand using delta as select * from {project.schema}.src"
    )
    project.source("src")
    for name in ("key", "type", "marks"):
        project.model(name, whole("src"))
    project.build()
    project.model("key", whole("src", key=["k", "k2"]))
    project.model("type", whole("src", stored_as_scd_type=2))
    project.model("marks", whole("src", on_missing="mark"))
    project.model("by_hand", whole("src"))
    run = project.dbt("run")
    made = f"as {project.schema}"
    assert f'got "SCD 1 by k and k2"; expected SCD 1 by k, {made}.key was made' in sentence(
        run.message["key"]
    )
    assert f'got "SCD 2 by k"; expected SCD 1 by k, {made}.type was made' in sentence(
        run.message["type"]
    )
    assert f'got "SCD 1 with marks by k"; expected SCD 1 by k, {made}.marks was made' in sentence(
        run.message["marks"]
    )
    assert "expected a table that snapshot_diff made" in sentence(run.message["by_hand"])
    project.build("--full-refresh", "--select", "type")


@pytest.mark.edge
def test_hashes_do_not_collide(shared: Project) -> None:
    """hash_diff and hash_key in any model: rows that differ, and rows that are equal, by both algorithms."""
    project = shared
    differ = [
        ("null", "cast(null as string)", "''"),
        ("separator", "'a|b', 'c'", "'a', 'b|c'"),
        ("colon", "'1:a', ''", "'1', ':a'"),
        ("kind", "1", "'1'"),
        ("null_text", "cast(null as string)", "'NULL'"),
        ("moved_null", "cast(null as string), 'a'", "'a', cast(null as string)"),
        ("nan", "double('NaN')", "'NaN'"),
        ("time_text", "timestamp'2026-01-01 00:00:00Z'", "'2026-01-01 00:00:00.000000Z'"),
        ("date_text", "date'2026-01-01'", "'2026-01-01'"),
        ("true_text", "true", "'true'"),
        ("micro", "timestamp'2026-01-01 00:00:00.000001Z'", "timestamp'2026-01-01 00:00:00Z'"),
        ("array", "array('a', 'b')", "array('a,b')"),
        ("array_null", "array(cast(null as string))", "array('')"),
        ("struct", "named_struct('x', 1, 'y', 2)", "named_struct('x', 12, 'y', cast(null as int))"),
        ("empty_array", "array(double(0.0))", "cast(array() as array<double>)"),
        ("binary", "X'ff'", "X'fe'"),
        (
            "minus_inside_text",
            "array(named_struct('t', ':-0.0,', 'd', double(1)))",
            "array(named_struct('t', ':0.0,', 'd', double(1)))",
        ),
        ("small", "double(-0.05)", "double(0.05)"),
        ("map", "map('a', 1)", "map('a', 2)"),
        ("case", "'a'", "'A'"),
        ("space", "'a'", "'a '"),
    ]
    equal = [
        ("zero", "double(-0.0)", "double(0.0)"),
        ("zero_inside", "array(double(-0.0), double(1))", "array(double(0.0), double(1))"),
        ("zero_in_struct", "named_struct('x', float(-0.0))", "named_struct('x', float(0.0))"),
        ("nan_again", "double('NaN')", "double('NaN')"),
        ("width", "cast(1 as tinyint)", "cast(1 as bigint)"),
        ("zone", "timestamp'2026-01-01 00:00:00Z'", "timestamp'2026-01-01 01:00:00+01:00'"),
    ]
    checks = []
    for name, one, other in differ + equal:
        count = len(project.sql(f"select {one}")[0])
        names = [f"c{i}" for i in range(count)]
        columns = repr(names)
        for macro in ("hash_diff", "hash_key"):
            for algorithm in ("sha256", "xxhash64"):
                call = f"{{{{ floodmark.{macro}({columns}, '{algorithm}') }}}}"
                alias = ", ".join(names)
                checks.append(
                    f"select '{name}' as name, '{macro} {algorithm}' as way, "
                    f"(select {call} from (select {one}) as t({alias})) <=> (select {call} from (select {other}) as t({alias})) as same"
                )
    project.model("checks", "{{ config(materialized='table') }}\n" + "\nunion all\n".join(checks))
    project.model(
        "orders",
        "{{ config(materialized='table') }} select {{ floodmark.hash_diff(['a', 'B']) }} = {{ floodmark.hash_diff(['b', 'A']) }} as any_order, "
        "{{ floodmark.hash_key(['a', 'b']) }} <> {{ floodmark.hash_key(['b', 'a']) }} as in_order, "
        "{{ floodmark.hash_key('a') }} = {{ floodmark.hash_key(['c']) }} as any_name, "
        "{{ floodmark.hash_key('n') }} is null as no_key, length({{ floodmark.hash_diff('a') }}) = 64 as digits, "
        "typeof({{ floodmark.hash_diff('a', 'xxhash64') }}) = 'bigint' as number, "
        "{{ floodmark.hash_diff(['a', 'n']) }} = {{ floodmark.hash_diff(['a']) }} as added_null "
        "from (select 'x' as a, 'y' as b, 'x' as c, cast(null as string) as n)",
    )
    project.build("--select", "checks", "orders")
    found = {
        (name, way): same
        for name, way, same in project.sql(f"select * from {project.schema}.checks")
    }
    wrong = [
        key
        for key, same in found.items()
        # hash_key of NULL alone is NULL, as that of no other value
        if same != (key[0] in [name for name, _, _ in equal])
    ]
    assert wrong == []
    assert project.sql(f"select * from {project.schema}.orders") == [(True,) * 7]
    project.model("none", "select {{ floodmark.hash_diff([]) }} as h")
    assert "expected a column or a list of columns. Name at least one" in sentence(
        project.dbt("compile").log
    )
    project.model("none", "select {{ floodmark.hash_diff('a', 'md5') }} as h")
    assert (
        "algorithm got 'md5': expected 'sha256' or 'xxhash64'. Use sha256 where in doubt"
        in sentence(project.dbt("compile").log)
    )
    (project.root / "models" / "none.sql").unlink()


SNAPSHOT = """
{% snapshot snapped %}
{{ config(unique_key='k', strategy='check', check_cols='all', file_format='delta', hard_deletes='invalidate') }}
select k, a, b, n from {{ source('raw', 'src') }}
{% endsnapshot %}
"""


@pytest.mark.edge
def test_dbts_own_snapshot_tells_the_same_history(make_project: Callable[..., Project]) -> None:
    """The same series by both: one history, but for the names and times of its columns (docs/guides/snapshots.md)."""
    project = make_project("snapped")
    series = random_series(3, 80, 4 if FULL else 3)
    land(project, "src", series[:1], "a string, b string, n int")
    project.source("src")
    (project.root / "snapshots").mkdir()
    (project.root / "snapshots" / "snapped.sql").write_text(SNAPSHOT)
    project.model("history", whole("src", "k, a, b, n", stored_as_scd_type=2))
    for number in range(len(series)):
        if number:
            project.sql(f"delete from {project.schema}.src")
            add(project, "src", series[number : number + 1])
        project.build()
        snapped = project.dbt("snapshot")
        assert snapped.success, snapped.log[-3000:]

    def told(relation: str, start: str, end: str) -> list[tuple[Any, ...]]:
        lines = project.sql(
            f"select k, a, b, n, rank() over (partition by k order by {start}), {end} is null, {end} = lead({start}) over (partition by k order by {start}) "
            f"from {project.schema}.{relation}"
        )
        return sorted(lines, key=repr)

    theirs = told("snapped", "dbt_valid_from", "dbt_valid_to")
    assert told("history", "__start_at", "__end_at") == theirs
    assert len(theirs) > 60


def test_wrong_settings_are_refused_all_at_once(make_project: Callable[..., Project]) -> None:
    project = make_project("settings")
    project.sql(
        f"create table {project.schema}.src (v string, k string, m map<string, int>, __start_at int) using delta"
    )
    project.source("src")
    ms = {"column": "v", "lookback": "1 day"}
    cases: dict[str, tuple[str, list[str]]] = {
        "words": (
            whole(
                "src",
                compare_columns=["a"],
                except_columns=["b"],
                stored_as_scd_type=3,
                on_missing="drop",
                allow_empty="yes",
                max_delete_fraction=2,
                versoin="v",
                output="rows",
            ),
            [
                'snapshot_diff.versoin: got "v"; expected one of compare_columns',
                'snapshot_diff.compare_columns: got ["a"]; expected compare_columns or except_columns, not both. Remove one',
                "snapshot_diff.stored_as_scd_type: got 3; expected one of 1, 2. Use one of them",
                'snapshot_diff.on_missing: got "drop"; expected one of delete, ignore, mark. Use one of them',
                'snapshot_diff.allow_empty: got "yes"; expected true or false. Write it without quotes',
                "snapshot_diff.max_delete_fraction: got 2; expected a number from 0 to 1. 0.1 lets a tenth of the keys be missing",
                'snapshot_diff.output: got "rows"; expected one of table, changes. Use one of them',
            ],
        ),
        "no_key": (
            whole("src", key=None),
            [
                "unique_key: got null; expected a column or a list of columns. snapshot_diff needs the key"
            ],
        ),
        "no_strategy": (
            whole("src", config={"incremental_strategy": "merge"}),
            [
                "incremental_strategy: got \"merge\"; expected 'snapshot_diff' with snapshot_diff={...}"
            ],
        ),
        "changes": (
            whole(
                "src",
                output="changes",
                stored_as_scd_type=2,
                on_missing="mark",
                config={"change_feed": True},
            ),
            [
                "snapshot_diff.stored_as_scd_type: got 2; expected output 'table' with it",
                "snapshot_diff.on_missing: got \"mark\"; expected output 'table' with it",
                "change_feed: got true; expected no change feed with output 'changes'",
            ],
        ),
        "watermark": (
            incremental(
                table("src"),
                incremental_strategy="snapshot_diff",
                unique_key="k",
                watermark=ms,
                snapshot_diff={"version": "w"},
            ),
            [
                'snapshot_diff.version: got "w"; expected the column of the watermark, v. Use one column for both',
                "watermark.lookback: got \"1 day\"; expected no lookback with 'snapshot_diff'",
            ],
        ),
        "columns": (
            whole("src", version="v", compare_columns=["a", "k"], stored_as_scd_type=2),
            [
                'snapshot_diff.compare_columns: got "a"; expected columns of the SELECT other than the key',
                'snapshot_diff.compare_columns: got "k"; expected columns of the SELECT other than the key',
                'snapshot_diff.version: got "v string"; expected a timestamp, a date or a whole number. Cast it in the SELECT',
                'snapshot_diff: got "a column __start_at in the SELECT"; expected no column that floodmark writes itself',
            ],
        ),
        "map_key": (
            whole("src", key="m"),
            ['unique_key: got "m map<string,int>"; expected a type that can be compared'],
        ),
    }
    for name, (sql, _) in cases.items():
        project.model(name, sql)
    run = project.dbt("run")
    for name, (_, told) in cases.items():
        for text in told:
            assert text in sentence(run.message[name]), (text, run.message[name])
    assert {row[1] for row in project.sql(f"show tables in {project.schema}")} == {"src"}


@pytest.mark.edge
def test_names_that_spark_blacks_out_and_contracts(make_project: Callable[..., Project]) -> None:
    """Spark shows properties with `url` or `token` in them as asterisks; columns are called so. A contract lists all columns."""
    project = make_project("names")
    project.sql(
        f"create table {project.schema}.src (url string, token string, seq int) using delta"
    )
    project.sql(f"insert into {project.schema}.src values ('u1', 't1', 1), ('u2', 't2', 1)")
    project.source("src")
    synced = {"on_schema_change": "sync_all_columns"}
    if FULL:
        project.model("latest", whole("src", "url, token", key="url"))
    project.model("listed", whole("src", "url, token", key="url", output="changes", config=synced))
    events = {"sequence_by": "seq", "stored_as_scd_type": 2}
    project.model(
        "evented",
        f"{{{{ config(materialized='incremental', incremental_strategy='cdc', unique_key='url', cdc={events!r}) }}}}\n"
        f"select * from {table('src')}",
    )
    columns = {
        "url": "string",
        "token": "string",
        "__start_at": "timestamp",
        "__end_at": "timestamp",
        "_floodmark_hash": "struct<a: bigint, b: bigint, c: bigint, d: bigint>",
    }
    lines = [f"      - {{name: {name}, data_type: '{kind}'" for name, kind in columns.items()]
    bound = [
        line + (", constraints: [{type: not_null}]}" if "end_at" not in line else "}")
        for line in lines
    ]
    project.model(
        "contracted",
        whole(
            "src",
            "url, token",
            key="url",
            stored_as_scd_type=2,
            config={"on_schema_change": "append_new_columns"},
        ),
        "config: {contract: {enforced: true}}\ncolumns:\n" + "\n".join(line[4:] for line in bound),
    )
    models = ["listed", "evented", "contracted"] + (["latest"] if FULL else [])
    project.build()
    before = {name: project.version(name) for name in models}
    project.build()
    assert {name: project.version(name) for name in models} == before
    project.sql(f"update {project.schema}.src set token = 't3', seq = 2 where url = 'u2'")
    project.sql(f"delete from {project.schema}.src where url = 'u1'")
    project.build()
    if FULL:
        assert held(project, "latest", "url, token") == {"u2": [("t3",)]}
    assert held(project, "contracted", "url, token, __end_at is null") == {
        "u1": [("t1", False)],
        "u2": [("t2", False), ("t3", True)],
    }
    assert held(project, "listed", "url, token, _change_type")["u1"] == [
        ("t1", "insert"),
        (None, "delete"),
    ]
    assert len(held(project, "evented", "url, token")["u2"]) == 2
    project.sql(f"update {project.schema}.src set token = null")
    assert "constraints broken: token_not_null" in str(
        project.dbt("run", "--select", "contracted").message
    ) + str(project.ledger("contracted", "error"))


@pytest.mark.edge
def test_a_source_that_moves_while_it_is_read_is_refused(
    make_project: Callable[..., Project],
) -> None:
    """Between the first look and the staged rows the source is replaced: nothing is written, and the next run reads it."""
    project = make_project("moving")
    project.sql(f"create table {project.schema}.src (v int, k string, a string) using delta")
    project.sql(f"insert into {project.schema}.src values (1, 'k1', 'a'), (1, 'k2', 'a')")
    project.source("src")
    moments = {
        "truncated": "delete from {0}",
        "grown": "insert into {0} values (2, 'k3', 'a')",
    }
    if FULL:
        moments["replaced"] = "update {0} set v = 3"
    for name in moments:
        project.model(name, whole("src", version="v"))
    project.build()
    for name, statement in moments.items():
        project.sql(f"delete from {project.schema}.src")
        project.sql(f"insert into {project.schema}.src values (2, 'k1', 'b'), (2, 'k2', 'b')")
        before = project.version(name)

        def move(statement: str = statement) -> None:
            project.sql(statement.format(f"{project.schema}.src"))

        with injected(Faults(cuts={name: "before: create table .*stage__"}, act=once(move))):
            run = project.dbt("run", "--select", name)
        assert run.status[name] == "error"
        told = "the source changed while its snapshot was read. Nothing was written: run again"
        assert told in sentence(run.message[name]), run.message[name]
        assert (project.version(name), project.mark(name)) == (before, "1")
