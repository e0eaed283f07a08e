"""Snapshots where table, ledger and types do not go together: no mark, emptied by hand, scopes of one version, values that do not fit."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.faults import Faults, injected, once
from tests.support.files import land, lines, loader
from tests.support.harness import FULL, Project, incremental, sentence, table
from tests.support.rows import held
from tests.support.snapshots import diff, whole

pytestmark = [pytest.mark.long("session"), pytest.mark.edge]

SCOPE = "var('scope', none)"
TRACKED = "k, a, __start_at, __end_at"
#: Nested, with a text that a pattern must not go through frame by frame.
NOTED = "array(named_struct('note', repeat('x\\\\\"', 60000), 'price', {price})) as notes"


def scoped(**settings: Any) -> str:
    """A model of whole snapshots, or of the part that the variable names."""
    sql = whole("src", where="where {{ var('scope', 'true') }}", version="d", scope="@", **settings)
    return sql.replace("'@'", SCOPE)


def test_rows_without_a_mark_are_not_compared_with_old_versions(
    make_project: Callable[..., Project],
) -> None:
    """A ledger elsewhere, as behind `dbt clone`: versions that are loaded would be loaded again, over newer ones.

    A table that is emptied by hand is loaded anew.
    """
    project = make_project("unmarked")
    s = project.schema
    project.sql(f"create table {s}.src (v int, k string, a string) using delta")
    project.sql(f"insert into {s}.src values (1, 'k', 'a1'), (2, 'k', 'a2')")
    project.source("src")
    project.model("stepped", diff("src", stored_as_scd_type=2))
    project.model("newest", whole("src", where="where v = 2", version="v"))
    project.build()
    before = [project.version(name) for name in ("stepped", "newest")]
    run = project.dbt("run", "--vars", f"{{floodmark_schema: {s}_other}}")
    for name in ("stepped", "newest"):
        assert (
            f"{s}.{name} has rows, but the ledger has no mark for it, so snapshot_diff cannot tell which versions are "
            "loaded: name the ledger that it was loaded with (variable floodmark_schema), or run it once with --full-refresh to load "
            "everything again"
        ) in sentence(run.message[name])
    assert [project.version(name) for name in ("stepped", "newest")] == before
    project.sql(f"drop schema {s}_other cascade")
    for name in ("stepped", "newest"):
        project.sql(f"delete from {s}.{name}")
    project.build()
    assert held(project, "stepped", TRACKED) == {"k": [("a1", 1, 2), ("a2", 2, None)]}
    assert held(project, "newest", "k, a") == {"k": [("a2",)]}
    kinds = ["first_load", "incremental", "first_load", "incremental"]
    assert [kind for (kind,) in project.ledger("stepped", "kind")] == kinds


def test_scopes_of_one_version_that_share_a_key(make_project: Callable[..., Project]) -> None:
    """The row that began in this version takes the later values: none is empty, and none goes twice."""
    project = make_project("shared")
    s = project.schema
    project.sql(f"create table {s}.src (d int, k string, region string, a string) using delta")
    project.sql(f"insert into {s}.src values (1, 'k', 'N', 'a1'), (1, 's', 'S', 's1')")
    project.source("src")
    project.model("tracked", scoped(stored_as_scd_type=2))
    project.model("listed", scoped(output="changes"))
    project.build()
    project.sql(f"update {s}.src set d = 2, a = 'a2' where k = 'k'")
    project.sql(f"insert into {s}.src values (2, 'new', 'N', 'n2')")
    north, south = ("--vars", "{scope: region = 'N'}"), ("--vars", "{scope: region = 'S'}")
    project.build(*north)
    project.sql(f"delete from {s}.src where k = 'new'")
    project.sql(f"update {s}.src set d = 2, region = 'S', a = if(k = 'k', 'a3', a)")
    run = project.dbt("run", *south)
    assert held(project, "tracked", TRACKED) == {
        "k": [("a1", 1, 2), ("a3", 2, None)],
        "new": [("n2", 2, None)],
        "s": [("s1", 1, None)],
    }
    assert (
        '1 key has a change of this d in the list already, from another scope: {"k":"k"}. Nothing was written: nobody could tell which of '
        "two changes at one time came last. Give the scopes no key in common, or different versions"
    ) in sentence(run.message["listed"])
    # the whole of the version behind its parts: what is not in it goes, without an empty row
    run = project.dbt("run")
    assert (
        '2 keys have a change of this d in the list already, from another scope: {"k":"k"}, {"k":"new"}.'
        in (sentence(run.message["listed"]))
    )
    loaded = project.version("tracked")
    project.sql(f"update {s}.src set a = 'a4' where k = 'k'")
    project.build("--select", "tracked")
    assert project.version("tracked") == loaded
    assert held(project, "tracked", TRACKED) == {
        "k": [("a1", 1, 2), ("a3", 2, None)],
        "s": [("s1", 1, None)],
    }


def test_a_key_that_moves_with_the_same_values(make_project: Callable[..., Project]) -> None:
    """What the scope names is kept up, also where it is not compared, or came later: no key is lost with its old scope, and
    none stays for ever.
    """
    project = make_project("moved")
    s = project.schema
    project.sql(f"create table {s}.src (d int, k string, region string, price int) using delta")
    project.sql(f"insert into {s}.src values (1, 'k', 'US', 5), (1, 'e', 'EU', 1), (1, 'u', 'US', 2)")  # fmt: skip
    project.source("src")
    grows = {"config": {"on_schema_change": "append_new_columns"}}
    project.model("latest", scoped(compare_columns=["price"]))
    project.model("listed", scoped(except_columns=["region"], output="changes"))
    project.model("tracked", scoped(compare_columns=["price"], stored_as_scd_type=2))
    project.model("grown", whole("src", "k, d, price", version="d", **grows))
    project.build()
    project.sql(f"update {s}.src set d = 2")
    project.model("grown", scoped(**grows))
    project.build()
    assert held(project, "grown", "k, region") == {key: [(None,)] for key in "eku"}
    project.sql(f"update {s}.src set d = 3, region = if(k = 'k', 'EU', region)")
    europe, america = ("--vars", "{scope: region = 'EU'}"), ("--vars", "{scope: region = 'US'}")
    warned = "rows that have not changed since region came are NULL there"
    assert warned in sentence(project.build(*europe).log)
    assert warned not in sentence(project.build(*america).log)
    moved = {"e": [("EU",)], "k": [("EU",)], "u": [("US",)]}
    assert held(project, "latest", "k, region") == moved
    assert held(project, "grown", "k, region") == moved
    assert held(project, "tracked", "k, region, __end_at") == {
        key: [(region, None)] for key, [(region,)] in moved.items()
    }
    changes = held(project, "listed", "k, _changed_at, _change_type, region")
    assert changes["k"] == [(1, "insert", "US"), (3, "update", "EU")]
    project.sql(f"delete from {s}.src where k = 'e'")
    project.sql(f"update {s}.src set d = 4")
    project.build(*europe)
    for name in ("latest", "grown"):
        assert held(project, name, "k, region") == {"k": [("EU",)], "u": [("US",)]}


def test_a_version_is_read_again_behind_an_empty_snapshot(
    make_project: Callable[..., Project],
) -> None:
    """Of `latest` the whole is empty, of `parts` one scope."""
    project = make_project("refilled")
    s = project.schema
    project.sql(f"create table {s}.dated (v date, k string, a string) using delta")
    project.sql(f"create table {s}.src (d int, k string, region string) using delta")
    project.sql(f"insert into {s}.dated values (date'2024-01-05', 'k', 'a')")
    project.sql(f"insert into {s}.src values (5, 'n', 'N'), (5, 's', 'S')")
    project.source("dated", "src")
    project.model("latest", whole("dated", version="v", allow_empty=True))
    project.model("parts", scoped(allow_empty=True))
    project.model("narrow", whole("src", "k, d"))

    def load(region: str, *args: str) -> list[str]:
        project.build("--vars", f"{{scope: region = '{region}'}}", *args)
        return [key for (key,) in project.sql(f"select k from {s}.parts order by k")]

    load("N")
    project.sql(f"delete from {s}.dated")
    assert load("S") == ["n", "s"]
    project.model(
        "narrow", whole("src", "k, d, region", scope="region = 'N'", where="where region = 'N'")
    )
    assert (
        f"snapshot_diff.scope: got \"region = 'N'\"; expected columns of {s}.narrow, which has no region. Run it once without scope "
        "under on_schema_change 'sync_all_columns', which fills the column, or with --full-refresh"
    ) in sentence(project.dbt("run", "--select", "narrow").message["narrow"])
    project.model("narrow", whole("src", "k, d"))
    assert held(project, "latest", "k, a") == {}
    project.sql(f"delete from {s}.src where k = 'n'")
    project.sql(f"insert into {s}.dated values (date'2024-01-05', 'k', 'a')")
    load("N")
    assert held(project, "latest", "k, a") == {"k": [("a",)]}
    assert load("S", "--select", "parts") == ["s"]
    project.sql(f"insert into {s}.src values (5, 'n', 'N')")
    project.sql(f"update {s}.dated set v = null")
    run = project.dbt("run", "--vars", "{scope: region = 'N'}")
    assert run.status["parts"] == "success", run.message["parts"]
    assert [key for (key,) in project.sql(f"select k from {s}.parts order by k")] == ["n", "s"]
    assert "1 row has no v. Nothing was written: give each row the version of its snapshot" in (
        sentence(run.message["latest"])
    )


def test_no_key_is_missing_beside_a_corrupt_record(make_project: Callable[..., Project]) -> None:
    """Nobody knows whose record it was; the next extract tells who is gone. Two extracts at once are told apart by a setting."""
    project = make_project("corrupt")
    for name, settings in {"ended": {"stored_as_scd_type": 2}, "marked": {"on_missing": "mark"}}.items():  # fmt: skip
        config = {"incremental_strategy": "snapshot_diff", "unique_key": "k", "snapshot_diff": settings}  # fmt: skip
        project.model(name, loader("extracts", "k, a", config=config, schema="k string, a string"))
    rows = {key: {"k": key, "a": "a"} for key in "klm"}
    warned = "corrupt, and nobody can tell which key it has, so no key of this snapshot counts as missing"
    land(project.root, {"extracts/1.json": lines(*rows.values())})
    project.build()
    land(project.root, {"extracts/2.json": lines({"k": "k", "a": "b"}, '{"k": "l", "a": "a')})
    assert warned in sentence(project.build().log)
    # A file that nobody can read is no empty extract.
    land(project.root, {"extracts/3.json": "nothing\n"})
    assert warned in sentence(project.build().log)
    there = {"k": [("b", False)], "l": [("a", False)], "m": [("a", False)]}
    assert held(project, "marked", "k, a, __is_missing") == there
    ended = "k, a, __end_at is not null"
    assert held(project, "ended", ended) == there | {"k": [("a", True), ("b", False)]}
    rows["k"]["a"] = "b"
    land(project.root, {"extracts/4.json": lines(rows["k"]), "extracts/5.json": lines(rows["k"])})
    said = sentence(project.dbt("run").message["ended"])
    assert (
        "each key once. If each file is a snapshot, set files.max_files_per_batch to 1" in said
    ), said
    (project.root / "extracts" / "5.json").unlink()
    project.build()
    gone = there | {"l": [("a", True)], "m": [("a", True)]}
    assert held(project, "marked", "k, a, __is_missing") == gone
    assert held(project, "ended", ended) == gone | {"k": [("a", True), ("b", False)]}


def test_the_file_of_a_row_is_no_change(make_project: Callable[..., Project]) -> None:
    """Rescued data ends with the path of its file, and `_metadata` has it. A corrupt record is known by its text."""
    project = make_project("of_files")
    config = {"unique_key": "k", "snapshot_diff": {"stored_as_scd_type": 2, "version": "v"}}
    options = {"schema_hints": "k string, n int, v int", "max_files_per_batch": 1}
    project.model("tracked", loader("extracts", "*", config | {"incremental_strategy": "snapshot_diff"}, **options))  # fmt: skip
    cdc = {"sequence_by": "v", "stored_as_scd_type": 2}
    config = {"incremental_strategy": "cdc", "unique_key": "k", "cdc": cdc}
    project.model("events", loader("extracts", config=config, **options))
    extract = [{"k": "k", "n": "n/a"}, {"k": "l", "n": 1}]
    first = lines(*({**row, "v": 1} for row in extract), "torn 1")
    land(project.root, {"extracts/1.json": first})
    project.build()
    second = lines(*({**row, "v": 2} for row in extract), "torn 1", "torn 2")
    land(project.root, {"extracts/2.json": second, "extracts/3.json": second})
    project.build()
    started = "n, __start_at, __end_at"
    for name in ("tracked", "events"):
        assert held(project, name, f"k, {started}") == {"k": [(None, 1, None)], "l": [(1, 1, None)]}
    torn = project.sql(
        f"select _floodmark_raw from {project.schema}.tracked__quarantine order by 1"
    )
    assert [text for (text,) in torn] == ["torn 1", "torn 2"]
    extract[0]["n"] = "none"
    # One that is late stays the first in line until it is left out.
    land(project.root, {"extracts/4 late.json": lines({"k": "l", "n": 1, "v": 1})})
    land(project.root, {"extracts/5.json": lines(*({**row, "v": 3} for row in extract))})
    run = project.dbt("run")
    assert (
        "the snapshot is of v 1, but 2 is loaded already. Nothing was written: versions must ascend. Later files wait until this one is "
        'corrected, or left out: `floodmark files <model> --skip "4 late.json"`'
    ) in sentence(run.message["tracked"])
    skipped = "{model: tracked, paths: [4 late.json]}"
    assert project.dbt("run-operation", "floodmark.skip_files", "--args", skipped).success
    project.build()
    for name in ("tracked", "events"):
        rows = {"k": [(None, 1, 3), (None, 3, None)], "l": [(1, 1, None)]}
        assert held(project, name, f"k, {started}") == rows


def test_values_that_the_table_holds_otherwise(make_project: Callable[..., Project]) -> None:
    """No row is a change by the type or the place in which it comes: fields of structs, '' in a partition, maps with keys that have no text."""
    project = make_project("otherwise")
    s = project.schema
    project.sql(f"create table {s}.src (k string, a string, n decimal(10, 2)) using delta")
    project.sql(f"insert into {s}.src values ('k', '', 1.5), ('l', 'x', 2)")
    project.source("src")
    later = "var('later', false)"
    wide = f"{{% if {later} %}}cast(n as decimal(12, 4)){{% else %}}n{{% endif %}}"
    settings = {"stored_as_scd_type": 2, "config": {"on_schema_change": "append_new_columns"}}
    project.model(
        "nested",
        whole("src", f"k, array(named_struct('p', {wide})) as items, a", **settings),
    )
    project.model(
        "parted",
        whole(
            "src",
            f"k, a, n{{% if not {later} %}}, 1 as extra{{% endif %}}",
            config={"partition_by": "a"},
        ),
    )
    project.model("mapped", whole("src", "k, map(cast(a as binary), n) as m"))
    project.model(
        "dated",
        whole("src", f"k, {{% if {later} %}}5{{% else %}}date'2024-01-01'{{% endif %}} as d, a"),
    )
    project.build()
    names = ("nested", "parted", "mapped", "dated")
    run = project.dbt("run", "--vars", "{later: true}")
    assert (
        f"floodmark refuses model '{s}.dated': 1 problem - on_schema_change: got \"d int\"; expected date, as in {s}.dated, or a type that can be "
        "cast to it. Cast it in the SELECT, or run once with --full-refresh"
    ) in sentence(run.message["dated"])
    for name in names[:3]:
        assert run.status[name] == "success", run.message[name]
        changed = project.ledger(name, "rows_inserted, rows_updated, rows_deleted")
        assert changed[1:] == [(0, 0, 0)], name
    project.sql(f"update {s}.src set n = 3 where k = 'k'")
    moved = names[:3] if FULL else ("parted",)  # the one whose hashes were made anew
    project.build("--vars", "{later: true}", "--select", *moved)
    for name in moved:
        assert project.ledger(name, "rows_inserted + rows_updated")[-1] in [(1,), (2,)], name


def test_hashes_half_made_anew(make_project: Callable[..., Project]) -> None:
    """A run dies behind the hashes and before the property that says of what they are; then the settings are taken back.

    The clock of `clocked` was an hour ahead in the run before, and is set back: the time of the load ascends.
    """
    project = make_project("half_made")
    s = project.schema
    project.sql(f"create table {s}.src (k string, a string, b string) using delta")
    project.sql(f"insert into {s}.src values ('k', 'a', 'b'), ('l', 'a', 'b')")
    project.source("src")
    compared = "(['a', 'b'] if var('later', false) else ['a'])"
    project.model("m", whole("src", compare_columns="@").replace("'@'", compared))
    project.model("clocked", whole("src", where="where k = 'k'", stored_as_scd_type=2))
    project.build()
    project.sql(f"insert into {s}.src values ('m', 'a', 'b')")
    with injected(Faults(cuts={"m": "after: update .* set _floodmark_hash"})):
        run = project.dbt("run", "--select", "m", "--vars", "{later: true}")
    assert run.status["m"] == "error"
    log = f"{s}_floodmark.batch_log"
    project.sql(f"alter table {log} set tblproperties ('delta.appendOnly' = 'false')")
    project.sql(
        f"update {log} set at = at + interval 1 hour where event = 'committed' and model = '{s}.clocked'"
    )
    project.sql(f"update {s}.clocked set __start_at = __start_at + interval 1 hour")
    project.sql(f"update {s}.src set b = 'b2' where k = 'k'")
    project.build()
    # b is not compared in m
    assert project.ledger("m", "rows_inserted, rows_updated")[-1] == (1, 0)
    rows = project.sql(
        f"select b, __start_at < coalesce(__end_at, timestamp'9999-01-01') from {s}.clocked"
    )
    assert sorted(tuple(row) for row in rows) == [("b", True), ("b2", True)]
    # The ledger has the time behind which the next one is.
    project.sql(f"update {s}.src set b = 'b3' where k = 'k'")
    project.build("--select", "clocked")
    rows = project.sql(f"select b from {s}.clocked where __start_at < coalesce(__end_at, timestamp'9999-01-01')")  # fmt: skip
    assert sorted(b for (b,) in rows) == ["b", "b2", "b3"]


def test_a_stage_that_loses_its_files_is_not_read_as_empty(
    make_project: Callable[..., Project],
) -> None:
    """The session passes over files that are missing; the stage, which MERGE reads more than once, does not.

    The batch is failed and its stage is dropped, so that the next run plans anew.
    """
    project = make_project("lost")
    s = project.schema
    project.sql(f"create table {s}.src (k string, a string, n int) using delta")
    project.sql(f"insert into {s}.src values ('k', 'a1', 1), ('l', 'a1', 1)")
    project.source("src")
    hook = "{{ config(pre_hook='set spark.sql.files.ignoreMissingFiles = true') }}"
    project.model("compared", hook + whole("src"))
    project.model(
        "merged",
        hook
        + incremental(
            table("src"),
            incremental_strategy="merge",
            unique_key="k",
            watermark={"column": "n", "gaps": "ignore"},
        ),
    )
    project.build()
    project.sql(f"update {s}.src set a = 'a2', n = 2 where k = 'k'")

    def stages() -> list[str]:
        shown = project.sql(f"show tables in {s}_floodmark like 'stage__*'")
        return [name for _, name, _ in shown]

    def lose() -> None:
        (name,) = stages()
        described = project.sql(f"describe table extended {s}_floodmark.{name}")
        location = next(row[1] for row in described if row[0] == "Location")
        files = list(Path(location.removeprefix("file:")).glob("*.parquet"))
        assert files
        for file in files:
            file.unlink()

    for model in ("compared", "merged"):
        # once: what is sent behind the refusal comes by, too
        faults = Faults(cuts={model: "before: merge into"}, act=once(lose))
        with injected(faults) as seen:
            run = project.dbt("run", "--select", model)
        is_read_twice = any("materializeSource = none" in sql for sql in seen.sent[model])
        if project.target == "thrift":  # a session is told without a statement
            assert is_read_twice == (model == "compared")
        assert run.status[model] == "error"
        said = (
            ", which a batch has staged, is gone. The statement wrote nothing. "
            "Run again: where nothing of the batch is applied yet, it is staged anew"
        )
        assert said in sentence(run.message[model])
        ((state, error),) = project.ledger(model, "state, error")[1:]
        assert (state, said in sentence(error)) == ("failed", True)
        assert stages() == []
        assert project.sql(f"select a from {s}.{model} where k = 'k'")[0][0] == "a1"
        project.build("--select", model)
        assert project.sql(f"select a from {s}.{model} where k = 'k'")[0][0] == "a2"


def test_a_mark_goes_when_the_key_is_back_with_other_values(
    make_project: Callable[..., Project],
) -> None:
    project = make_project("back")
    s = project.schema
    project.sql(f"create table {s}.src (v int, k string, a string) using delta")
    project.sql(
        f"insert into {s}.src values (1, 'k', 'a1'), (1, 'l', 'b'), (2, 'l', 'b'), (3, 'k', 'a2'), (3, 'l', 'b')"
    )
    project.source("src")
    project.model("marked", diff("src", stored_as_scd_type=2, on_missing="mark"))
    project.build()
    assert held(project, "marked", f"{TRACKED}, __is_missing, __missing_at") == {
        "k": [("a1", 1, 3, False, None), ("a2", 3, None, False, None)],
        "l": [("b", 1, None, False, None)],
    }


def test_a_row_that_begins_takes_over_what_left_the_select(
    make_project: Callable[..., Project],
) -> None:
    """Columns leave and come back. In between a row that begins has its key's open value; a new key, and one that was closed, has NULL."""
    project = make_project("left")
    s = project.schema
    columns = "v int, k string, a string, `Tax-%.net` string, p struct<`x-y`: int, z: array<int>>"
    project.sql(f"create table {s}.src ({columns}) using delta")
    # A column that the table fills by itself is no column that left; one that SELECTs gave is, also in such a table.
    project.sql(
        f"create table {s}.by_hand ({columns}, twice string generated always as (concat(a, a)), note string default 'new') "
        "using delta tblproperties ('delta.feature.allowColumnDefaults' = 'supported')"
    )
    project.source("src")
    select = "{{ 'v, k, a' if var('left', false) else '*' }}"
    adds = {"on_schema_change": "append_new_columns"}
    newest = f"where v = (select max(v) from {table('src')}) and k < 'n'"
    scope = {"version": "v", "scope": "k < 'n'"}
    models = {
        "by_hand": diff("src", select, stored_as_scd_type=2, config=adds),
        "marked": diff(
            "src", select, stored_as_scd_type=2, on_missing="mark", compare_columns=["a"]
        ),
        "scoped": whole("src", select, where=newest, stored_as_scd_type=2, **scope),
        "listed": diff("src", select, output="changes"),
    }
    for name, sql in models.items():
        project.model(name, sql)

    def load(
        version: int, *rows: tuple[str, str], left: bool = True, filtered: bool = False
    ) -> str:
        landed = ", ".join(
            f"({version}, '{k}', '{a}', 'tax {k}', named_struct('x-y', 1, 'z', array(2)))"
            for k, a in rows
        )
        project.sql(f"insert into {s}.src values {landed}")
        options = f"left: {left}" + (", floodmark_key_filter_bytes: 0" if filtered else "")
        return sentence(project.build("--vars", f"{{{options}}}").log)

    load(1, ("k", "a1"), ("l", "a1"), ("m", "a1"), ("z", "a1"), left=False)
    log = load(2, ("k", "a2"), ("l", "a1"), ("n", "a1"), ("z", "a1"))
    load(3, ("k", "a3"), ("l", "a1"), ("m", "a2"), ("n", "a1"), ("z", "a2"), filtered=True)
    kept = "k, a, `Tax-%.net`, to_json(p) as p, __start_at, __end_at"

    def value(key: str) -> tuple[str, str]:
        return (f"tax {key}", '{"x-y":1,"z":[2]}')

    nothing = (None, None)
    history = {
        "k": [("a1", *value("k"), 1, 2), ("a2", *value("k"), 2, 3), ("a3", *value("k"), 3, None)],
        "l": [("a1", *value("l"), 1, None)],
        "m": [("a1", *value("m"), 1, 2), ("a2", *nothing, 3, None)],
        "n": [("a1", *nothing, 2, None)],
        "z": [("a1", *value("z"), 1, 3), ("a2", *value("z"), 3, None)],
    }
    back = {"m": [("a1", *value("m"), 1, 3), ("a2", *value("m"), 3, None)]}
    within = {key: rows for key, rows in history.items() if key < "n"}
    for name in models:
        if name != "listed":
            expected = within if name == "scoped" else history | (back if name == "marked" else {})
            assert held(project, name, kept) == expected, name
    gone = "the SELECT no longer has p, tax-%.net: rows keep the value they have"
    taken = "new rows take the value of their key's open row"
    for begun in (taken, "changes have NULL there"):
        assert f"{gone}, {begun}, and all are compared without it" in log
    listed = held(project, "listed", "k, a, p.z, _changed_at, _change_type")
    assert listed["k"] == [
        ("a1", [2], 1, "insert"),
        ("a2", None, 2, "update"),
        ("a3", None, 3, "update"),
    ]
    filled = project.sql(
        f"select k, twice, note from {s}.by_hand where __end_at is null and k = 'k'"
    )
    assert filled == [("k", "a3a3", "new")]

    # They are back: what was taken over is no change, what had NULL is, where it is compared.
    load(4, ("k", "a3"), ("l", "a1"), ("m", "a2"), ("n", "a1"), ("z", "a2"), left=False)
    found = {key: len(rows) for key, rows in held(project, "by_hand", kept).items()}
    assert found == {"k": 3, "l": 1, "m": 3, "n": 2, "z": 2}
    filled_up = {"n": [("a1", *value("n"), 2, None)]}
    assert held(project, "marked", kept) == history | back | filled_up

    # What the SELECT gave in between is carried over from then on.
    for version, given in {5: "*, 'mine' as note", 6: "*"}.items():
        project.model("by_hand", diff("src", given, stored_as_scd_type=2, config=adds))
        project.sql(
            f"insert into {s}.src select {version}, k, 'a{version}', `Tax-%.net`, p from {s}.src where v = 4 and k = 'k'"
        )
        project.build("--select", "by_hand")
    filled = project.sql(f"select k, a, twice, note from {s}.by_hand where __end_at is null")
    assert filled == [("k", "a6", "a6a6", "mine")]


def test_types_that_do_not_fit(make_project: Callable[..., Project]) -> None:
    project = make_project("types")
    s = project.schema
    project.sql(f"create table {s}.src (k string, a varchar(20), n int) using delta")
    project.sql(f"insert into {s}.src values ('k', 'a', null), ('l', 'b', 1)")
    project.source("src")
    later = "var('later', false)"
    text = f"{{% if {later} %}}case n when 2 then '12a' else cast(n as string) end{{% else %}}n{{% endif %}} as n"
    grown = f"named_struct({{% if not {later} %}}'a', a, {{% endif %}}'n', n) as p"
    price = "{% if " + later + " %}-0.0D{% else %}0.0D{% endif %}"
    fails = {"on_schema_change": "fail"}
    project.model("lengths", whole("src", config=fails))
    project.model("fields", whole("src", f"k, {grown}", config=fails))
    project.model("numbers", whole("src", f"k, a, {text}"))
    project.model(
        "noted", whole("src", f"k, n, {NOTED.format(price=price)}", compare_columns=["notes"])
    )
    project.model(
        "digests",
        "select {{ floodmark.hash_diff(['notes']) }} as h from (select "
        + NOTED.format(price="-0.0D")
        + ")",
    )
    project.model("named", whole("src", "k as rows, a, n", key="rows"))
    project.model("parted", whole("src", "k, a, n", key=["a", "k"], config={"partition_by": "a"}))
    project.build()
    noted = project.version("noted")
    project.sql(f"update {s}.src set a = 'c', n = 2 where k = 'k'")
    project.sql(f"insert into {s}.src values ('m', '', 3)")
    run = project.dbt("run", "--vars", "{later: true}")
    failed = {name for name, status in run.status.items() if status == "error"}
    assert failed == {"fields", "numbers", "parted"}
    assert held(project, "lengths", "k, a, n") == {
        "k": [("c", 2)],
        "l": [("b", 1)],
        "m": [("", 3)],
    }
    assert f"the SELECT and {s}.fields differ (of another type: p): on_schema_change is 'fail'" in (
        sentence(run.message["fields"])
    )
    assert "`n` is int in the table and cannot hold: 12a" in sentence(run.message["numbers"])
    assert held(project, "numbers", "k, n") == {"k": [(None,)], "l": [(1,)]}
    parted = sentence(run.message["parted"])
    assert "1 row has no a or k: {" in parted and '"k":"m"}. Nothing was written' in parted
    assert held(project, "named", "rows, a")["m"] == [("",)]
    # another zero is no change: one row came
    assert project.ledger("noted", "rows_inserted, rows_updated") == [(2, 0), (1, 0)]
    assert project.version("noted") == noted + 1


def test_an_emptied_table_knows_no_scope(make_project: Callable[..., Project]) -> None:
    """Both scopes of the version that was loaded are loaded again."""
    project = make_project("emptied_scopes")
    s = project.schema
    project.sql(f"create table {s}.src (d int, k string, region string, a string) using delta")
    project.sql(f"insert into {s}.src values (5, 'n', 'N', 'n1'), (5, 's', 'S', 's1')")
    project.source("src")
    project.model("latest", scoped())
    scopes = [("--vars", f"{{scope: region = '{region}'}}") for region in "NS"]
    for scope in scopes:
        project.build(*scope)
    project.sql(f"delete from {s}.latest")
    for scope in scopes:
        project.build(*scope)
    assert held(project, "latest", "k, a") == {"n": [("n1",)], "s": [("s1",)]}


def test_a_column_of_the_analyst_called_like_one_of_ours_may_leave(
    make_project: Callable[..., Project],
) -> None:
    """Where the model does not add it, it is a column as any other."""
    project = make_project("own_changed_at")
    s = project.schema
    project.sql(
        f"create table {s}.src (d int, k string, a string, _changed_at timestamp) using delta"
    )
    project.sql(f"insert into {s}.src values (1, 'k', 'a', timestamp'2024-01-01 00:00:00')")
    project.source("src")
    project.model("latest", whole("src", version="d"))
    project.build()
    project.model("latest", whole("src", version="d").replace("select *", "select d, k, a"))
    project.sql(f"update {s}.src set d = 2, a = 'b'")
    project.build()
    assert project.rows("latest", "d, a, _changed_at is not null as kept") == {
        ('{"d":2,"a":"b","kept":true}',): 1
    }
