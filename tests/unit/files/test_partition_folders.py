"""The folders of a file's path that are columns, whatever the path of the settings looks like. Without Spark."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.support.macros import load

MODE = "delta.columnMapping.mode"
floodmark = load(invocation_args_dict=SimpleNamespace(project_dir="/work/x=1/shop"))


@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("in", "file:/work/x=1/shop/in/day=2/a.csv"),
        ("in/", "file:///work/x=1/shop/in/day=2/a.csv"),
        ("./in", "file:/work/x=1/shop/in/day=2/a.csv"),
        ("../in", "file:/work/x=1/in/day=2/a.csv"),
        ("../../in//here", "file:/work/in/here/day=2/a.csv"),
        ("/data/y=1/../in", "file:/data/in/day=2/a.csv"),
        ("/data/y=1/in", "file:/data/y=1/in/day=2/a.csv"),
        ("../in/day=*", "file:/work/x=1/in/day=2/a.csv"),
        ("s3a://y=1/in", "s3a://y=1/in/day=2/a.csv"),
        ("file:///data/y=1", "file:/data/y=1/day=2/a.csv"),
        ("s3a://y=1", "s3a://y=1/day=2/a.csv"),
        ("hdfs:///data/y=1", "hdfs://x=1:9/data/y=1/day=2/a.csv"),
        ("/data/y=1", "hdfs://x=1:9/data/y=1/day=2/a.csv"),
        ("/", "file:/day=2/a.csv"),
    ],
)
def test_folders_below_the_path_are_columns(path, file):
    assert floodmark._partition_values({"path": path}, file) == {"day": "2"}


def test_a_path_that_is_a_file_has_no_folders_below():
    file = {"path": "file:/data/y=1/a.csv"}
    given = {"path": "/data/y=1/a.csv", "archive_to": "/old"}
    assert floodmark._partition_values(given, file["path"]) == {}
    assert floodmark._partition_values(given, "file:/data/y=1/") == {}
    assert floodmark._archived_path(given, file) == "/old/a.csv"
    own, sent = load(local_md5=str.upper), []
    own._execute = sent.extend
    own._delete_files("shop.bronze", given, [file])
    assert "location 'file:/data/y=1/_floodmark_deleted_" in sent[0]


def settings(**given):
    return {"path": "/in", "partition_columns": None, "schema_evolution": "add_new_columns"} | given


def a_run(**given):
    return {"settings": {"files": settings(**given)}}


def test_folders_that_differ_in_case_are_one_column():
    floodmark._partition_type = lambda settings, name, values: "int"
    files = [{"path": f"file:/in/{folder}/a.csv"} for folder in ("day=1", "Day=2", "DAY=3")]
    columns = floodmark._partitions(a_run(), None, files)
    assert columns == [{"name": "day", "type": "int"}]
    known = [{"name": "Day", "type": "int"}]
    assert floodmark._partitions(a_run(), known, files) == known
    [column] = floodmark._folder_columns(settings(), columns, files)
    assert "(?:day|Day|DAY)=([^/]*)/" in column["text"] and column["text"] in column["value"]


@pytest.mark.parametrize("names", ["store", ["store"]])
def test_one_folder_is_named_with_and_without_a_list(names):
    floodmark._partition_type = lambda settings, name, values: "int"
    files = [{"path": "file:/in/day=1/store=2/a.csv"}]
    found = floodmark._partitions(a_run(partition_columns=names), None, files)
    assert found == [{"name": "store", "type": "int"}]


REFUSED = ("my col=1", "report (rev=2)", "a,b=1", " =1", "=1", "a;b=1")


@pytest.mark.parametrize(
    ("given", "record", "kept"),
    [
        ({}, None, ["day"]),
        ({"schema_hints": "`My Col` int, id int"}, None, ["my col", "day"]),
        ({}, "struct<id:int,`a;b`:string>", ["day", "a;b"]),
        ({"partition_columns": ["my col"]}, None, ["my col"]),
        ({"partition_columns": []}, None, []),
    ],
)
def test_a_level_whose_name_delta_refuses_is_left_out(given, record, kept):
    own = load(invocation_args_dict=SimpleNamespace(project_dir="/work"))
    run = a_run(**given)
    own._partition_type = lambda settings, name, values: "string"
    files = [{"path": f"file:/in/{one}/a.csv"} for one in (*REFUSED[:2], "day=1", *REFUSED[2:])]
    found = own._partitions(run, None, files, record)
    warned = run.get("warnings", [])
    assert sorted(one["name"] for one in found) == sorted(kept)
    asked = "partition_columns" in given
    assert len(warned) == (0 if asked else 1)
    assert asked or "folder levels have names that Delta takes with column mapping" in warned[0]
    assert asked or all(
        (f"{one.partition('=')[0]}=" in warned[0]) == (one.partition("=")[0].lower() not in kept)
        for one in REFUSED[:2]
    )


def test_hints_beside_a_variant_are_of_folders_that_may_come_later():
    own = load(invocation_args_dict=SimpleNamespace(project_dir="/work"))
    run = a_run(schema_hints="day date, n int", single_variant_column="record", format="json")
    files = [{"path": "file:/in/n=1/a.json"}]
    found = own._partitions(run, None, files, "struct<record:variant>")
    assert found == [{"name": "n", "type": "int"}, {"name": "day", "type": "date"}]
    [said] = run["warnings"]
    assert "files.schema_hints has 'day', and no file lies in a folder 'day=' yet" in said
    assert own._partitions(run, found[:1], files, "struct<record:variant>") == found[:1]


@pytest.mark.parametrize(
    ("format", "record", "given"),
    [
        ("text", "struct<value:string>", {}),
        ("text", "struct<value:string>", {"partition_columns": ["value", "day"]}),
        ("json", "struct<value:variant>", {"single_variant_column": "value"}),
        ("json", "struct<id:int>", {"rescued_data_column": "value", "single_variant_column": None}),
    ],
)
def test_a_level_with_a_name_that_is_taken_is_left_out(format, record, given):
    own = load(invocation_args_dict=SimpleNamespace(project_dir="/work"))
    run = a_run(format=format, **given)
    files = [{"path": "file:/in/Value=1/day=2/a"}]
    found = own._partitions(run, None, files, record)
    assert found == [{"name": "day", "type": "string"}]
    [said] = run["warnings"]
    name = "value" if "partition_columns" in given else "Value"
    assert said.startswith(f"the folders have a level '{name}=', which gives no column")


@pytest.mark.parametrize("name", ["_metadata", "_Floodmark_bad"])
def test_a_level_with_a_name_of_floodmarks_own_is_left_out(name):
    own = load(invocation_args_dict=SimpleNamespace(project_dir="/work"))
    run = a_run()
    assert own._partitions(run, None, [{"path": f"file:/in/{name}=1/a"}]) == []
    assert f"a level '{name}=', which gives no column" in run["warnings"][0]
    known = [{"name": name, "type": "int"}]
    assert own._partitions(run, known, [{"path": f"file:/in/{name}=1/a"}]) == known


def test_with_column_mapping_delta_takes_nearly_every_name():
    mapped = load(
        invocation_args_dict=SimpleNamespace(project_dir="/work"),
        config={"tblproperties": {MODE: "name"}},
    )
    mapped._partition_type = lambda settings, name, values: "string"
    files = [{"path": f"file:/in/{one}/a.csv"} for one in REFUSED]
    found = [one["name"] for one in mapped._partitions(a_run(), None, files)]
    assert found == ["my col", "report (rev", "a,b", "a;b"]


@pytest.mark.parametrize("asks", [True, False])
@pytest.mark.parametrize("mode", ["name", "none", None])
@pytest.mark.parametrize("full_refresh", [True, False])
def test_a_table_that_is_there_says_itself_whether_it_has_column_mapping(asks, mode, full_refresh):
    properties = {"tblproperties": {MODE: "name"}} if asks else {}
    own = load(invocation_args_dict=SimpleNamespace(project_dir="/work"), config=properties)
    own._partition_type = lambda settings, name, values: "string"
    looked = []
    own._properties_of = lambda relation: looked.append(relation) or ({MODE: mode} if mode else {})
    given = own._with_defaults({"path": "/in", "format": "parquet"}, own._files_schema())
    run = {"settings": {"files": own._completed_files(given)}, "full_refresh": full_refresh}
    run["target"] = {"is_delta": True}
    seen, files = "struct<id:int,`net amount`:int>", [{"path": "file:/in/my col=1/a.parquet"}]
    is_mapped = asks if full_refresh else mode == "name"
    assert own._seen_columns(run, "struct<id:int>") == "struct<id:int>" and looked == []
    assert own._seen_columns(run, seen) == (seen if is_mapped else "struct<id:int>")
    assert [one["name"] for one in own._partitions(run, None, files)] == ["my col"] * is_mapped
    # Only names that need it are worth a question, and only one.
    assert len(looked) == (not full_refresh)


@pytest.mark.parametrize(("mode", "is_mapped"), [("id", True), ("none", False)])
def test_the_config_counts_for_a_table_that_is_made(mode, is_mapped):
    own = load(config={"tblproperties": {MODE: mode}})
    assert own._is_mapped({"target": {"is_delta": False}, "full_refresh": False}) is is_mapped


def test_without_files_nobody_knows_the_format():
    given = settings(schema_hints=None, infer_column_types=False, format=None)
    assert load()._partition_type(given, "day", None) == "string"


@pytest.mark.parametrize(
    ("given", "values", "type"),
    [
        ({"format": "parquet"}, ["1", "-2", "0"], "int"),
        ({"format": "json", "infer_column_types": True}, ["1", "30000000000"], "bigint"),
        ({"format": "parquet"}, ["2024-05-01", None], "date"),
        # As Spark has it.
        ({"format": "parquet"}, ["05", "12"], "int"),
        ({"format": "parquet", "rescued_data_column": False}, ["1"], "int"),
        # What does not fit later would be lost.
        ({"format": "text"}, ["1"], "string"),
        ({"format": "binary"}, ["2024-05-01"], "string"),
        ({"format": "json", "single_variant_column": "record"}, ["1"], "string"),
        # Nobody guesses it then.
        ({"format": "text", "schema_hints": "n int"}, ["web"], "int"),
    ],
)
def test_a_type_is_guessed_only_where_nothing_is_lost(given, values, type):
    own = load()
    files = own._completed_files(own._with_defaults({"path": "/in"} | given, own._files_schema()))
    assert own._partition_type(files, "n", values) == type


@pytest.mark.parametrize(
    ("hints", "format", "is_taken"),
    [
        ("day date, shard int", "text", True),
        ("value int", "text", False),
        ("Length int", "binary", False),
        ("length int", "text", True),
        ("a.b int", "text", False),
        ("day array<int>", "binary", False),
    ],
)
def test_hints_of_texts_and_binary_files_are_of_folders(hints, format, is_taken):
    problems = load()._format_problems({"path": "in", "format": format, "schema_hints": hints})
    assert [one["setting"] for one in problems] == ([] if is_taken else ["files.schema_hints"])
    assert is_taken or problems[0]["expected"] == (
        f"only types of folders name=value with format '{format}', whose records have columns of their own"
    )
