"""FILES.md, what is marked (s): the formats, rescued data, options and bounds of `files` on a `streaming_table`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.files import columns, land, records, rescued
from tests.support.harness import Project, Run

pytestmark = pytest.mark.parametrize("target", ["session"], scope="module")

SCHEMA = "id int, m decimal(4, 1), s struct<b: string>"
FLAT = "id int, m decimal(4, 1), d date"
JSON = (
    '\ufeff{"id":1,"m":1.2,"s":{"b":"x"}}\r\n\n'
    '{"id":"q","m":1.25,"s":{"b":"y","c":[1]},"extra":{"deep":"er"}}\n'
    '{"ID":3}\n'
)
CSV = 'id,m,d\n1,1.2,2024-05-01\nq,"1.25",2024-05-01 10:00\n'
XML = (
    "<rows><row><id>1</id><m>1.2</m><d>2024-05-01</d></row>"
    "<row><id>q</id><m>1.25</m><d>never</d></row></rows>"
)
NESTED_XML = (
    "<rows><row><id>1</id><who><age>old</age></who><kids><age>6</age></kids><kids><age>x</age></kids>"
    "</row><row><id>2</id><id>3</id><who><age>4</age></who><kids><age>5</age></kids></row></rows>"
)
#: Its second record is not closed.
BROKEN_XML = "<rows><row><id>1</id></row><row><id>2</id></rows>"
#: What lets no text pass as an id.
XSD = (
    '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="row"><xs:complexType><xs:sequence>'
    '<xs:element name="id" type="xs:int"/></xs:sequence></xs:complexType></xs:element></xs:schema>'
)
AVRO = "org.apache.spark.sql.avro.AvroFileFormat"


def stream(select: str = "* except (_metadata)", **files: Any) -> str:
    return (
        f"{{{{ config(materialized='streaming_table', files={files!r}) }}}}\n"
        f"select {select} from {{{{ floodmark.new_files() }}}}\n"
    )


RESCUES = {"rescued_data_column": "_rescued_data"}
#: Numbers in columns of strings, and beside them.
EXACT = (
    '{"id":1,"a":1234567890123456.78,"s":{"x":12.50,"l":[-1.0,"2.50",{"y":1.10}]},"m":{"k":1E2},"d":1.20}\n'
    '{"id":2,"a":{"b":[1.50]},"s":{"x":"7"},"m":{"1.5":true},"d":12345678901234567890.25}\n'
    '{"id":"q","a":12.50,"s":{"x":1.0,"l":"no"}}\n'
)
MODELS = {
    "jsons": stream(path="json", schema=SCHEMA, **RESCUES, max_files_per_batch=1),
    "strict": stream(path="json", schema=SCHEMA),
    "lenient": stream(
        path="lenient",
        format="json",
        schema="id int",
        options={"allowSingleQuotes": True},
        **RESCUES,
    ),
    "wholes": stream(
        path="whole", format="json", schema="id int, a array<int>", options={"multiLine": True}
    ),
    "flat": stream(path="flat", schema="id int", recursive=False),
    # Columns that are called as helpers once were.
    "named": stream(path="named", format="csv", schema="value int, texts string", **RESCUES),
    "corrupt": stream(path="corrupt", schema="id int", **RESCUES, max_bytes_per_batch="1 kb"),
    "stops": stream(path="corrupt", schema="id int"),
    "csvs": stream(path="csv", format="csv", schema=FLAT, **RESCUES),
    "semicolons": stream(
        path="semi", format="csv", schema="id int, b string", options={"sep": ";"}
    ),
    "other_header": stream(path="header", format="csv", schema=FLAT),
    "xmls": stream(path="xml", format="xml", schema=FLAT, options={"rowTag": "row"}, **RESCUES),
    "nested_xmls": stream(
        path="nested",
        format="xml",
        schema="id int, who struct<age: int>, kids array<struct<age: int>>",
        options={"rowTag": "row"},
        **RESCUES,
    ),
    "broken_xmls": stream(
        path="broken", format="xml", schema=FLAT, options={"rowTag": "row"}, **RESCUES
    ),
    "strict_xmls": stream(path="broken", format="xml", schema="id int", options={"rowTag": "row"}),
    "parquets": stream(path="parquet", format="parquet", schema="id int, extra string"),
    "orcs": stream(path="orc", format="orc", schema="id int"),
    "avros": stream(path="avro", format="avro", schema="id int"),
    "exact": stream(
        path="exact",
        schema="id int, a string, s struct<x: string, l: array<string>>, m map<string, string>, d decimal(38, 2)",
        **RESCUES,
    ),
    "texts": stream("value, _metadata.file_name as file", path="json", format="text"),
    "binaries": stream("length, content", path="csv", format="binary"),
    "by_name": stream(path="csv", schema=FLAT, **RESCUES),
    "logs": stream(path="logged"),
    "nameless": stream(path="nothing", schema="id int"),
}
#: What stops, and the words for it.
STOPS = {
    "stops": "a record is corrupt (not a JSON object) in file:",
    "strict_xmls": "a record is corrupt (not well-formed XML) in file:",
    "other_header": "CSV header",
    "nameless": "because the folder nothing is not there, or has no file whose name tells it. Put the folder back if it was moved",
}


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("stream_files")
    root = project.root
    for folder, files in {
        "json": {"a.json": JSON, "b.json": '{"id":4}\n'},
        "lenient": {"a.json": "{'id':1,'N':{'x':1}}\n"},
        "whole": {
            "a.json": '{"id":1,\n"a":[1,\n2]}\n',
            "b.json": '{"id":2}',
            "c.json": '\n[{"id":3},\n{"a":[4]}]',
        },
        "exact": {"a.json": EXACT},
        "flat": {
            "a.json": '{"id":1}\n',
            "k=v/b.json": '{"id":2}\n',
            "more/c.json": '{"id":3}\n',
        },
        "named": {"a.csv": "value,texts\n1,a\nq,b\n"},
        "corrupt": {"a.json": '{"id":1}\nno JSON\n[1]\nnull\n{"id":2}{"id":3}\n'},
        "csv": {"a.csv": CSV},
        "logged": {"a.log": "one\ntwo\n"},
        "semi": {"a.csv": 'id;b\n1;"x;y"\n'},
        "header": {"a.csv": "id,d,m\n1,2024-05-01,1.2\n"},
        "xml": {"a.xml": XML},
        "nested": {"a.xml": NESTED_XML},
        "broken": {"a.xml": BROKEN_XML},
        "checked": {"a.xml": "<rows><row><id>1</id></row><row><id>q</id></row></rows>"},
    }.items():
        land(root / folder, files)
    for format, provider in {"parquet": "parquet", "orc": "orc", "avro": AVRO}.items():
        project.sql(
            f"insert overwrite directory '{root}/{format}' using `{provider}` select 1 as id, 'x' as extra"
        )
    for name, sql in MODELS.items():
        project.model(name, sql)
    land(root, {"row.xsd": XSD})
    options = {"rowTag": "row", "rowValidationXSDPath": str(root / "row.xsd")}
    project.model(
        "checked",
        stream(path="checked", format="xml", schema="id int", options=options, **RESCUES),
    )
    return project


@pytest.fixture(scope="module")
def run(project: Project) -> Run:
    return project.dbt("run")


def test_every_stream_but_those_that_must_stop_runs(run: Run) -> None:
    assert {name for name, status in run.status.items() if status != "success"} == set(STOPS), (
        run.log
    )
    for name, words in STOPS.items():
        assert words in run.message[name]


def rows(project: Project, model: str, *names: str) -> list[tuple[Any, ...]]:
    found = [tuple(row.get(name) for name in names) for row in records(project, model)]
    return sorted(found, key=str)


def test_json_rescues_what_does_not_fit(project: Project, run: Run) -> None:
    assert "2 batches" in run.message["jsons"]
    assert rows(project, "jsons", "id", "m", "s") == [
        (1, 1.2, {"b": "x"}),
        (4, None, None),
        (None, None, None),
        (None, None, {"b": "y"}),
    ]
    found = [rescued(row) for row in records(project, "jsons")]
    assert sorted(filter(None, found), key=str) == [
        {"ID": 3, "_file_path": "a.json"},
        {"id": "q", "m": 1.25, "s": {"c": [1]}, "extra": {"deep": "er"}, "_file_path": "a.json"},
    ]
    assert rows(project, "strict", "id", "m", "s") == rows(project, "jsons", "id", "m", "s")
    [row] = records(project, "lenient")
    assert (row["id"], rescued(row)) == (1, {"N": {"x": 1}, "_file_path": "a.json"})
    assert rows(project, "wholes", "id", "a") == [
        (1, [1, 2]),
        (2, None),
        (3, None),
        (None, [4]),
    ]


def test_numbers_that_are_strings_are_as_in_the_file(project: Project, run: Run) -> None:
    assert rows(project, "exact", "id", "a", "s", "m", "d") == [
        (
            1,
            "1234567890123456.78",
            {"x": "12.50", "l": ["-1.0", "2.50", '{"y":1.10}']},
            {"k": "1E2"},
            1.2,
        ),
        (2, '{"b":[1.50]}', {"x": "7"}, {"1.5": "true"}, 12345678901234567890.25),
        (None, "12.50", {"x": "1.0"}, None, None),
    ]
    [left] = [row["_rescued_data"] for row in records(project, "exact") if "_rescued_data" in row]
    assert left.startswith('{"id":"q","s":{"l":"no"},')


def test_the_folder_alone(project: Project, run: Run) -> None:
    assert rows(project, "flat", "id") == [(1,)]


def test_columns_of_any_name(project: Project, run: Run) -> None:
    assert rows(project, "named", "value", "texts") == [(1, "a"), (None, "b")]
    found = [rescued(row) for row in records(project, "named")]
    assert list(filter(None, found)) == [{"value": "q", "_file_path": "a.csv"}]


def test_a_corrupt_record_is_a_row_with_its_text(project: Project, run: Run) -> None:
    assert rows(project, "corrupt", "id") == [(1,), (None,), (None,), (None,), (None,)]
    texts = [(rescued(row) or {}).get("_corrupt_record") for row in records(project, "corrupt")]
    assert sorted(filter(None, texts)) == ["[1]", "no JSON", "null", '{"id":2}{"id":3}']
    assert not project.sql(f"select * from {project.schema}.stops")


@pytest.mark.parametrize(
    ("model", "text"), [("broken_xmls", BROKEN_XML), ("checked", "<row><id>q</id></row>")]
)
def test_corrupt_xml_is_a_row_with_its_text(
    project: Project, run: Run, model: str, text: str
) -> None:
    """Of a file that is not well formed the text is the whole file's, behind the records that were read."""
    found = records(project, model)
    assert [row["id"] for row in found if "id" in row] == [1]
    [corrupt] = [rescued(row) for row in found if "id" not in row]
    assert corrupt == {"_corrupt_record": text, "_file_path": "a.xml"}
    assert not project.sql(f"select * from {project.schema}.strict_xmls")


def test_csv_and_xml(project: Project, run: Run) -> None:
    for model in ("csvs", "xmls"):
        assert rows(project, model, "id", "m", "d") == [(1, 1.2, "2024-05-01"), (None, None, None)]
    [text] = [rescued(row) for row in records(project, "csvs") if "_rescued_data" in row]
    assert text == {"id": "q", "m": "1.25", "d": "2024-05-01 10:00", "_file_path": "a.csv"}
    [text] = [rescued(row) for row in records(project, "xmls") if "_rescued_data" in row]
    assert text == {"id": "q", "m": "1.25", "d": "never", "_file_path": "a.xml"}
    assert rows(project, "semicolons", "id", "b") == [(1, "x;y")]
    # Without a format the names of the files tell it.
    assert rows(project, "by_name", "id", "m") == rows(project, "csvs", "id", "m")


def test_what_is_nested_in_xml(project: Project, run: Run) -> None:
    assert rows(project, "nested_xmls", "id", "who", "kids") == [
        (1, {}, [{"age": 6}, {}]),
        (None, {"age": 4}, [{"age": 5}]),
    ]
    found = [rescued(row) for row in records(project, "nested_xmls")]
    assert sorted(found, key=str) == [
        {"id": ["2", "3"], "_file_path": "a.xml"},
        {"who": {"age": "old"}, "kids": [{"age": "6"}, {"age": "x"}], "_file_path": "a.xml"},
    ]


def test_formats_with_types_text_and_binary(project: Project, run: Run) -> None:
    assert rows(project, "parquets", "id", "extra") == [(1, "x")]
    assert rows(project, "orcs", "id") == rows(project, "avros", "id") == [(1,)]
    lines = (JSON + '{"id":4}').lstrip("\ufeff").splitlines()
    assert sorted(value for value, _ in rows(project, "texts", "value", "file")) == sorted(lines)
    assert rows(project, "binaries", "length") == [(len(CSV),)]
    assert columns(project, "logs") == {"value": "string"}
    assert rows(project, "logs", "value") == [("one",), ("two",)]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"format": "csv"}, "expected the columns as DDL, such as 'id bigint, name string'"),
        ({}, "expected the columns as DDL, such as 'id bigint, name string'"),
        (
            {"format": "orc", "schema": "id int", "rescued_data_column": "r"},
            "expected format 'json', 'csv' or 'xml' with it on a streaming_table",
        ),
        (
            {"schema": "id int", "max_bytes_per_batch": 10, "max_files_per_batch": 10},
            "expected max_bytes_per_batch or max_files_per_batch, not both",
        ),
        (
            {"schema": "id int", "on_corrupt": "fail"},
            "expected no such setting on a streaming_table",
        ),
        (
            {"schema": "id int", "format": "csv", "options": {"multiLine": True}},
            "expected a record a line with format 'csv' on a streaming_table",
        ),
        (
            {"schema": "id int", "format": "json", "options": {"multiline": 1, "sep": ","}},
            "files.options.sep",
        ),
    ],
)
def test_what_a_stream_refuses(project: Project, files: dict[str, Any], message: str) -> None:
    project.model("refused", stream(path="json", **files))
    run = project.dbt("run", "--select", "refused")
    assert run.status["refused"] == "error"
    assert message in run.message["refused"]
