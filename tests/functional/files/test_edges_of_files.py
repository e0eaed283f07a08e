"""Corners of files: numbers of lines that are indented, letters that are cut, which file has a new column, folders that come again."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from typing import Any

import fastavro
import pyarrow as pa
import pytest
from pyarrow import orc, parquet

from tests.support.commands import command
from tests.support.files import land, lines, loader, quarantined, records, rescued
from tests.support.harness import Project, sentence

pytestmark = [pytest.mark.edge, pytest.mark.long("session")]


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    return make_project("edges_of_files")


def written(table: dict[str, list[Any]], writer: Any = parquet) -> bytes:
    into = io.BytesIO()
    writer.write_table(pa.table(table), into)
    return into.getvalue()


def avro(type: Any, *rows: dict[str, Any]) -> bytes:
    """A file with the columns id and x, which has this type."""
    fields = [{"name": "id", "type": "int"}, {"name": "x", "type": type}]
    into = io.BytesIO()
    fastavro.writer(into, {"type": "record", "name": "r", "fields": fields}, rows)
    return into.getvalue()


def load(project: Project, name: str, files: dict[str, bytes | str], **settings: Any) -> str:
    """Land files in the folder of a model, and run it: what it says where it fails."""
    land(project.root / name, files)
    project.model(name, loader(name, **settings))
    run = project.dbt("run", "--select", name)
    return "" if run.status[name] == "success" else sentence(run.message[name])


def held(project: Project, name: str) -> list[tuple[int, str]]:
    return project.sql(
        f"select _floodmark_line, _floodmark_raw from {project.schema}.{name}__quarantine order by 1"
    )


def test_a_line_that_is_indented_has_its_number(project: Project) -> None:
    """A document in many lines that is read without multiLine."""
    text = '{\n  "id": 1,\n  "id": 1,\n\t"a": "x"\n}\n{"id": 2}\n'
    assert load(project, "indented", {"a.json": text}, format="json") == ""
    found = held(project, "indented")
    assert [line for line, _ in found] == [1, 2, 3, 4, 5]
    assert [raw.strip() for _, raw in found] == [line.strip() for line in text.split("\n")[:5]]


def test_a_line_of_latin_letters_has_its_number(project: Project) -> None:
    text = "id,name\n1,a\n2,ö,ü\n3,é\n"
    options = {"encoding": "ISO-8859-1"}
    said = load(project, "latin", {"a.csv": text.encode("latin-1")}, format="csv", options=options)
    assert said == ""
    assert held(project, "latin") == [(3, "2,ö,ü")]
    assert [row["name"] for row in records(project, "latin", "id")] == ["a", "é"]


def test_bytes_that_are_no_letters_stop_no_batch(project: Project) -> None:
    """Windows' own letters, of which 0x81 is none."""
    text = "id,name\n1,€\n2,a".encode("windows-1252") + b"\x81\n3,\x81,x\n"
    options = {"encoding": "windows-1252"}
    assert load(project, "windows", {"a.csv": text}, format="csv", options=options) == ""
    assert [row["name"] for row in records(project, "windows", "id")] == ["€", "a\ufffd"]
    assert [raw for _, raw in held(project, "windows")] == ["3,\ufffd,x"]


@pytest.mark.parametrize(("encoding", "cut"), [("UTF-16LE", 1), ("UTF-16BE", 1), ("UTF-32", 3)])
def test_a_wide_letter_that_is_cut_off_stops_no_batch(
    project: Project, encoding: str, cut: int
) -> None:
    name = f"cut_{encoding.lower().replace('-', '_')}"
    text = "id,name\n1,a\n2,b\n".encode(encoding)
    files = {"a.csv": text[:-cut], "b.csv": text}
    assert load(project, name, files, format="csv", options={"encoding": encoding}) == ""
    rows = project.sql(f"select id, name from {project.schema}.{name} order by all")
    assert rows == [("1", "a")] * 2 + [("2", "b")] * 2


@pytest.mark.parametrize(("format", "writer"), [("parquet", parquet), ("orc", orc)])
def test_the_file_that_has_a_new_column_is_named(
    project: Project, format: str, writer: Any
) -> None:
    """A look at many files sees the columns of all in each of them."""
    name = f"new_{format}"
    settings = {"format": format, "schema_evolution": "fail"}
    assert load(project, name, {f"a.{format}": written({"id": [1]}, writer)}, **settings) == ""
    files = {f"{letter}.{format}": written({"id": [2]}, writer) for letter in "bce"}
    files[f"d.{format}"] = written({"id": [3], "x": [1], "y": ["z"]}, writer)
    said = load(project, name, files, **settings)
    place = f"file:{project.root}/{name}/d.{format}"
    assert f"2 new columns: x in {place}, y in {place}." in said


def test_fields_of_objects_beside_texts_are_rescued_by_a_lenient_reader(project: Project) -> None:
    """Spark's own inference, which sees for it, calls what is an object and a text a string."""
    name = "lenient"
    settings = {"format": "json", "options": {"allowSingleQuotes": True}}
    first = "{'id':1,'s':{'b':'x'},'l':[{'b':'x'}]}\n"
    assert load(project, name, {"a.json": first}, **settings) == ""
    second = "{'id':2,'s':{'b':'y','c':5},'l':[{'b':'y','c':5}]}\n{'id':3,'s':'text','l':'text'}\n"
    assert load(project, name, {"b.json": second}, **settings) == ""
    found = {row["id"]: row for row in records(project, name)}
    assert found["2"]["s"] == {"b": "y"}
    rest = {id: rescued(row) or {} for id, row in found.items()}
    assert rest["1"] == {}
    # Of an array the whole is rescued.
    assert (rest["2"]["s"], rest["2"]["l"]) == ({"c": 5}, [{"b": "y", "c": 5}])
    assert (rest["3"]["s"], rest["3"]["l"]) == ("text", "text")


@pytest.mark.parametrize("is_lenient", [False, True])
def test_what_lies_deep_is_a_string_of_json(project: Project, is_lenient: bool) -> None:
    """Spark reads JSON of a thousand levels; macros call themselves once or twice a level."""
    name = f"deep_{'lenient' if is_lenient else 'strict'}"
    settings: dict[str, Any] = {"format": "json"}
    if is_lenient:
        settings["options"] = {"allowSingleQuotes": True}

    def nested(levels: int, **beside: Any) -> dict[str, Any]:
        value: dict[str, Any] = {"end": "x"}
        for _ in range(levels):
            value = {"a": value, **beside}
        return value

    first = {
        "a.json": lines({"id": 1, "d": nested(50)}),
        "b.json": lines({"id": 2, "d": nested(50, b="y")}),
    }
    assert load(project, name, first, **settings) == ""
    more = lines({"id": 3, "d": nested(50) | {"c": "z"}}, {"id": 4, "d": "text"})
    assert load(project, name, {"c.json": more}, **settings) == ""
    one, two, three, four = records(project, name, "id")
    for row, beside in ((one, {}), (two, {"b": "y"}), (three, {})):
        value = row["d"]
        for _ in range(19):
            assert value.get("b") == beside.get("b")
            value = value["a"]
        assert json.loads(value) == nested(31, **beside)
    assert rescued(one) is rescued(two) is None
    assert rescued(three) == {"d": {"c": "z"}, "_file_path": "c.json"}
    assert rescued(four) == {"d": "text", "_file_path": "c.json"}


def test_a_new_column_fails_a_batch_of_a_lenient_reader(project: Project) -> None:
    name = "lenient_fail"
    settings = {"format": "json", "options": {"allowSingleQuotes": True}}
    settings |= {"schema_evolution": "fail"}
    assert load(project, name, {"a.json": "{'id':1}\n"}, **settings) == ""
    files = {"b.json": "{'id':2}\n", "c.json": "{'id':3,'x':4}\n{'id'\n"}
    said = load(project, name, files, **settings)
    assert f"1 new column: x in file:{project.root}/{name}/c.json." in said


def test_a_lenient_reader_widens_without_a_file_that_cannot_be_read(project: Project) -> None:
    name = "lenient_cut"
    settings = {"format": "json", "options": {"allowSingleQuotes": True}}
    settings |= {"schema_evolution": "widen", "infer_column_types": True}
    assert load(project, name, {"a.json": "{'id':1,'n':1}\n"}, **settings) == ""
    cut = gzip.compress(b"{'id':3,'n':3}\n" * 1000)[:-20]
    assert (
        load(project, name, {"b.json": "{'id':2,'n':null}\n", "c.json.gz": cut}, **settings) == ""
    )
    assert [row["id"] for row in records(project, name, "id")] == [1, 2]


def test_a_file_that_is_cut_is_corrupt_whatever_the_session_passes_over(project: Project) -> None:
    name, conf = "passed_over", "spark.sql.files.ignoreCorruptFiles"
    hooks = {"pre_hook": f"set {conf} = true", "post_hook": f"set {conf} = false"}
    files = {
        "a.json": lines({"id": 1}),
        "b.json.gz": gzip.compress(b'{"id": 2}\n' * 1000)[:-20],
    }
    assert load(project, name, files, config=hooks, format="json") == ""
    assert [row["id"] for row in records(project, name)] == ["1"]
    [(file, _, raw, _)] = quarantined(project, name)
    assert (file, raw) == ("b.json.gz", None)


def test_a_folder_that_comes_again_has_its_type(project: Project) -> None:
    name = "foldered"
    assert load(project, name, {"a.parquet": written({"id": [1]})}, format="parquet") == ""
    assert load(project, name, {"kind=1/b.parquet": written({"id": [2]})}, format="parquet") == ""
    code, output = command(project, "files", name, "--reset-schema", "1")
    assert code == 0, output
    late = {"kind=late/c.parquet": written({"id": [3]}), "kind=2/d.parquet": written({"id": [4]})}
    assert load(project, name, late, format="parquet") == ""
    found = {row["id"]: row.get("kind") for row in records(project, name, "id")}
    assert found == {1: None, 2: 1, 3: None, 4: 2}
    (row,) = [row for row in records(project, name, "id") if row["id"] == 3]
    assert (rescued(row) or {}).get("kind") == "late"


def test_a_table_that_files_without_a_record_made_keeps_its_types(project: Project) -> None:
    """The first record decides which columns there are; what does not fit the table's type is rescued."""
    name = "unrecorded"
    empty = pa.array([], pa.int32())
    first = {"store=1/a.parquet": written({"id": empty, "v": empty})}
    assert load(project, name, first, format="parquet") == ""
    more = {"store=north/b.parquet": written({"id": [3_000_000_000, 2], "v": ["x", "y"]})}
    assert load(project, name, more, format="parquet") == ""
    one, two = records(project, name, "id")
    unfit = {"v": "x", "store": "north", "_file_path": "b.parquet"}
    assert (one.get("id"), one.get("v"), one.get("store")) == (None, None, None)
    assert rescued(one) == {"id": 3_000_000_000, **unfit}
    assert (two["id"], rescued(two)) == (2, unfit | {"v": "y"})


def test_a_column_of_avro_that_was_null_gets_the_type_that_it_has_later(project: Project) -> None:
    name = "nulls"
    assert load(project, name, {"a.avro": avro("null", {"id": 1, "x": None})}, format="avro") == ""
    typed = {"b.avro": avro(["null", "string"], {"id": 2, "x": "a"})}
    assert load(project, name, typed, format="avro") == ""
    late = {"c.avro": avro("null", {"id": 3, "x": None})}
    assert load(project, name, late, format="avro") == ""
    assert records(project, name, "id") == [{"id": 1}, {"id": 2, "x": "a"}, {"id": 3}]


def test_a_path_that_the_select_renames_is_refused_before_the_first_load(project: Project) -> None:
    land(project.root / "renamed", {"a.json": '{"id": 1}\n'})
    given = {"path": "renamed", "format": "json", "schema": "id int", "allow_overwrites": "replace"}
    project.model(
        "renamed",
        f"{{{{ config(materialized='incremental', incremental_strategy='append', files={given!r}) }}}}\n"
        "with found as (select id, _metadata.file_path as path from {{ floodmark.new_files() }})\n"
        "select id, path as source_file from found\n",
    )
    run = project.dbt("run", "--select", "renamed")
    assert run.status["renamed"] == "error"
    assert (
        'files.allow_overwrites: got "replace"; expected the path of each row\'s file in the table. The SELECT calls it '
        "path, but has no column of this name. Give it one name throughout"
    ) in sentence(run.message["renamed"])


def test_rows_that_do_not_tell_their_file_are_not_left_beside_those_that_replace_them(
    project: Project,
) -> None:
    name, given = "told_late", {"format": "json", "schema": "id int"}
    assert load(project, name, {"a.json": '{"id": 1}\n'}, select="id", **given) == ""
    late = {"select": "id, _metadata.file_path as source_file", "allow_overwrites": "replace"}
    said = load(project, name, {"a.json": '{"id": 1}\n{"id": 2}\n'}, **given, **late)
    assert (
        f"expected the path of its file in each row of {project.schema}.{name}. Files of this batch were loaded "
        "before, and rows without a path in source_file may be theirs. Run once with --full-refresh"
    ) in said
    assert records(project, name) == [{"id": 1}]
    run = project.dbt("run", "--select", name, "--full-refresh")
    assert run.status[name] == "success"
    assert [row["id"] for row in records(project, name, "id")] == [1, 2]


def test_a_pattern_matches_no_hidden_folder(project: Project) -> None:
    """A file that is still being written there is loaded once, from where it is moved to."""
    root = project.root / "arriving"
    names = ("shop/1.json", "_tmp/2.json", ".tmp/3.json", "shop/_4.json", "_raw/5.json", "_6.json")
    land(
        root, {name: f'{{"id": {name.strip("abcdefghijklmnopqrstuvwxyz/_.")}}}\n' for name in names}
    )
    given = {"format": "json", "schema": "id int"}
    project.model("arriving", loader("arriving/*", **given))
    project.model("arriving_raw", loader("arriving/_r*", **given))
    project.build("--select", "arriving", "arriving_raw")
    assert records(project, "arriving") == [{"id": 1}]
    assert records(project, "arriving_raw") == [{"id": 5}]
    (root / "_tmp/2.json").rename(root / "shop/2.json")
    project.build("--select", "arriving")
    assert records(project, "arriving") == [{"id": 1}, {"id": 2}]
