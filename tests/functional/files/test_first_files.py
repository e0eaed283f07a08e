"""Folders at the edge: what is not there yet, what was done by hand, a run that died, records that stay corrupt."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.support.commands import command
from tests.support.faults import Faults, injected
from tests.support.files import columns, land, lines, loader, records, rescued
from tests.support.harness import Project, incremental, sentence

pytestmark = [pytest.mark.edge, pytest.mark.long("session")]

JSON = {"format": "json", "schema": "id int"}


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("first")
    project.model("plain", "select 1 as id")
    # The ledger comes with the first run, whatever it loads.
    project.build()
    return project


def ids(project: Project, model: str) -> list[int]:
    return sorted(int(row["id"]) for row in records(project, model))


def test_a_folder_that_is_missing_has_nothing_to_skip(project: Project) -> None:
    project.model("missing", loader("missing", include_existing=False, **JSON))
    run = project.build("--select", "missing")
    assert run.status["missing"] == "success"


@pytest.mark.parametrize("dry", [("--empty",), ("--sample", "1 day")])
def test_a_dry_run_records_no_files_as_skipped(project: Project, dry: tuple[str, ...]) -> None:
    """These are skipped by the first load, with what came until then."""
    name = "dry_" + dry[0].strip("-")
    land(project.root / name, {"1.json": lines({"id": 1})})
    project.model(name, loader(name, include_existing=False, **JSON))
    run = project.dbt("run", "--select", name, *dry)
    assert run.status[name] == "success", run.log
    assert project.ledger(name, "path", "files") == []
    land(project.root / name, {"2.json": lines({"id": 2})})
    project.build("--select", name)
    land(project.root / name, {"3.json": lines({"id": 3})})
    project.build("--select", name)
    assert ids(project, name) == [3]


def test_a_model_that_waits_for_its_first_file_leaves_no_table(project: Project) -> None:
    """Hooks behind it would fail without one, and models that read it say why they do."""
    s, waits = project.schema, "APPEND waits for the first file in awaited"
    hook = "alter table {{ this }} set tblproperties ('hooked' = 'yes')"
    given = {"format": "json", "infer_column_types": True}
    project.model("awaited", loader("awaited", "id", config={"post_hook": hook}, **given))
    awaited = "{{ ref('awaited') }}"
    project.model("below", incremental(awaited, watermark={"column": "id"}))
    rule = "[{'name': 'known', 'expect': floodmark.in_relation('id', 'awaited')}]"
    project.model(
        "ruled",
        "{{ config(materialized='incremental', incremental_strategy='merge', unique_key='id', "
        f"expectations={rule}) }}}} select 1L as id",
    )
    project.model("adopted", loader("missing", "id", **given))
    project.sql(f"create table {s}.adopted (id bigint) using delta")
    dry = project.build("--select", "awaited", "adopted", "--empty")
    assert (dry.message["awaited"], dry.message["adopted"]) == (waits, "APPEND nothing new")
    run = project.dbt("run", "--select", "awaited", "below", "ruled")
    assert run.message["awaited"] == waits
    told = "build it first. If its run has succeeded, it waits for the first file in awaited"
    for name, said in {
        "below": f"its upstream {s}.awaited does not exist: {told}",
        "ruled": f"a rule looks into {s}.awaited, which does not exist: {told}",
    }.items():
        assert said in sentence(run.message[name]), run.message[name]
    land(project.root / "awaited", {"1.json": lines({"id": 1})})
    project.build("--select", "awaited", "below", "ruled")
    for name in ("awaited", "below", "ruled"):
        assert ids(project, name) == [1], name
    assert ("hooked", "yes") in project.sql(f"show tblproperties {s}.awaited")


def test_what_was_skipped_by_hand_leaves_the_first_load_as_it_is(project: Project) -> None:
    """Beside `include_existing: false`: what was there before stays out all the same."""
    land(project.root / "by_hand", {f"{n}.json": lines({"id": n}) for n in (1, 2)})
    project.model("by_hand", loader("by_hand", include_existing=False, **JSON))
    code, output = command(project, "files", "by_hand", "--skip", "1.json")
    assert code == 0, output
    project.build("--select", "by_hand")
    land(project.root / "by_hand", {"3.json": lines({"id": 3})})
    project.build("--select", "by_hand")
    assert ids(project, "by_hand") == [3]


def test_a_full_refresh_loads_what_is_there_whatever_include_existing_became(
    project: Project,
) -> None:
    """Only before the first load is anything skipped; what was skipped comes once it is included."""
    refresh = ("--select", "set_later", "unset", "--full-refresh")
    for name in ("set_later", "unset"):
        land(project.root / name, {f"{n}.json": lines({"id": n}) for n in (1, 2)})
    project.model("set_later", loader("set_later", **JSON))
    project.model("unset", loader("unset", include_existing=False, **JSON))
    project.build("--select", "set_later", "unset")
    for name in ("set_later", "unset"):
        land(project.root / name, {"3.json": lines({"id": 3})})
    project.model("set_later", loader("set_later", include_existing=False, **JSON))
    project.build("--select", "set_later", "unset")
    assert (ids(project, "set_later"), ids(project, "unset")) == ([1, 2, 3], [3])
    project.build(*refresh)
    # What was skipped stays out as long as the setting says so.
    assert (ids(project, "set_later"), ids(project, "unset")) == ([1, 2, 3], [3])
    project.model("unset", loader("unset", max_files_per_batch=1, **JSON))
    project.build("--select", "unset")
    assert ids(project, "unset") == [3]
    for _ in range(2):
        project.build(*refresh)
        assert ids(project, "unset") == [1, 2, 3]
    project.build("--select", "unset")
    assert ids(project, "unset") == [1, 2, 3]
    assert {state for (state,) in project.ledger("unset", "state", "files")} == {"committed"}


def test_csv_without_a_header_has_its_names_after_a_crash(project: Project) -> None:
    """Those of its plan, though `schema` has others since."""
    land(project.root / "bare", {"1.csv": "1,a\n"})
    given = {"format": "csv", "options": {"header": False}, "schema": "id int, name string"}
    project.model("bare", loader("bare", **given))
    project.build("--select", "bare")
    land(project.root / "bare", {"2.csv": "2,b\n"})
    with injected(Faults(cuts={"bare": "before: create table .*__files"})):
        assert not project.dbt("run", "--select", "bare").success
    project.model("bare", loader("bare", **given | {"schema": "id int, title string"}))
    project.build("--select", "bare")
    assert records(project, "bare", "id") == [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]


NO_RECORDS: dict[str, tuple[dict[str, str], dict[str, object]]] = {
    "corrupt": ({"bad.json": "not JSON\nnor this\n"}, {"format": "json"}),
    "corrupt_given": ({"bad.json": "not JSON\nnor this\n"}, JSON),
    "blank": ({"bad.csv": "id\n", "bad2.csv": "\n"}, {"format": "csv"}),
}


@pytest.mark.parametrize("name", NO_RECORDS)
def test_files_without_a_good_record_are_loaded_once(project: Project, name: str) -> None:
    """The first good file decides the columns, and what was judged and discarded stays so."""
    files, settings = NO_RECORDS[name]
    land(project.root / name, files)
    project.model(name, loader(name, **settings))
    project.build("--select", name)
    held = [] if name == "blank" else ["discarded"] * 2
    if held:
        discard = ("quarantine", "discard", name, "--where", "true", "--reason", "known")
        code, output = command(project, *discard)
        assert code == 0, output
    before = project.ledger(name, "batch_id, state, finished_at")
    assert len(before) == 1
    project.build("--select", name)
    assert project.ledger(name, "batch_id, state, finished_at") == before
    good = "id\n1\n" if settings["format"] == "csv" else lines({"id": 1})
    land(project.root / name, {f"good.{settings['format']}": good})
    for _ in range(2):
        project.build("--select", name)
        assert ids(project, name) == [1]
        assert len(project.ledger(name, "batch_id")) == 2
    # A file of which nothing could be read is `quarantined`.
    state = "quarantined" if held else "committed"
    assert sorted(
        (path.rpartition("/")[2], state)
        for path, state in project.ledger(name, "path, state", "files")
    ) == [*((file, state) for file in sorted(files)), (f"good.{settings['format']}", "committed")]
    if held:
        states = project.sql(f"select _floodmark_state from {project.schema}.{name}__quarantine")
        assert [state for (state,) in states] == held
    # A table that somebody dropped is loaded of all files that are there.
    project.sql(f"drop table {project.schema}.{name}")
    project.build("--select", name)
    assert ids(project, name) == [1]
    if held:
        assert len(project.sql(f"select 1 from {project.schema}.{name}__quarantine")) == 4


def test_hints_for_later_columns_take_no_place_of_csv_without_a_header(project: Project) -> None:
    land(project.root / "places", {"1.csv": "1,a,b\n"})
    hints = "_c0 int, _c5 date"
    project.model(
        "places",
        loader("places", format="csv", options={"header": False}, schema_hints=hints),
    )
    project.build("--select", "places")
    land(project.root / "places", {"2.csv": "2,a,b,X,Y\n"})
    project.build("--select", "places")
    land(project.root / "places", {"3.csv": "3,a,b,X,Y,2024-05-01\n"})
    project.build("--select", "places")
    first = {"_c1": "a", "_c2": "b"}
    assert records(project, "places", "_c0") == [
        {"_c0": 1, **first},
        {"_c0": 2, **first, "_c3": "X", "_c4": "Y"},
        {"_c0": 3, **first, "_c3": "X", "_c4": "Y", "_c5": "2024-05-01"},
    ]


def test_new_columns_fail_a_batch_of_json_that_rescues_nothing(project: Project) -> None:
    land(project.root / "strict", {"1.json": lines({"id": 1, "x": 2})})
    project.model(
        "strict",
        loader("strict", **JSON, schema_evolution="fail", rescued_data_column=False),
    )
    run = project.dbt("run", "--select", "strict")
    assert run.status["strict"] == "error"
    assert "1 new column: x in file:" in sentence(run.message["strict"])


def test_folders_that_differ_in_case_give_one_column(project: Project) -> None:
    land(
        project.root / "cases",
        {f"{folder}/a.json": lines({"id": n}) for n, folder in enumerate(("day=1", "Day=2"), 1)},
    )
    project.model("cases", loader("cases", infer_column_types=True))
    project.build("--select", "cases")
    assert list(columns(project, "cases")) in (
        ["id", "day", "_rescued_data"],
        ["id", "Day", "_rescued_data"],
    )
    found = [(row["id"], row.get("day", row.get("Day"))) for row in records(project, "cases", "id")]
    assert found == [(1, 1), (2, 2)]


def test_a_hint_of_another_spelling_is_a_type_of_parquet(project: Project) -> None:
    """Nothing is rounded, and nothing is NULL for want of a type that Spark calls otherwise."""
    project.sql(
        f"insert overwrite directory '{project.root}/prices' using parquet select cast(1.25 as decimal(10,2)) as price"
    )
    hint = "price numeric(10, 2) not null comment 'net, in EUR'"
    project.model("prices", loader("prices", format="parquet", schema_hints=hint))
    project.build("--select", "prices")
    assert records(project, "prices") == [{"price": 1.25}]


def test_a_record_of_a_columnar_format_is_no_variant(project: Project) -> None:
    project.model("variant", loader("prices", format="parquet", single_variant_column="record"))
    run = project.dbt("run", "--select", "variant")
    (project.root / "models/variant.sql").unlink()
    assert not run.success
    assert (
        "files.single_variant_column: got \"record\"; expected format 'json', 'csv' or 'xml'. Remove it, and make a "
        "VARIANT in the SELECT, such as to_variant_object(struct(*))"
    ) in sentence(run.log)


def test_a_corrupt_record_that_is_kept_is_null_and_says_why(project: Project) -> None:
    """Also where Spark has read a part of it, or none: its columns are NULL."""
    land(project.root / "kept", {"1.csv": "id,name\n1,a\n2,b,c\n", "2.csv": "id,id\n3,4\n"})
    project.model("kept", loader("kept", format="csv", infer_column_types=True, on_corrupt="null"))
    project.build("--select", "kept")
    found = {
        json.dumps({name: row.get(name) for name in ("id", "name")}): rescued(row)
        for row in records(project, "kept")
        if "id" in row
    }
    assert found == {'{"id": 1, "name": "a"}': None}
    odd = [rescued(row) for row in records(project, "kept") if "id" not in row]
    assert sorted((one["_file_path"], one["_corrupt_record"]) for one in odd if one) == [
        ("1.csv", "2,b,c"),
        ("2.csv", "its header has the column 'id' more than once"),
    ]
