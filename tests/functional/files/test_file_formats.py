"""FILES.md, the eight formats and "Corrupt": what each gives, what is corrupt in it, and what becomes of that."""

from __future__ import annotations

import bz2
import gzip
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.files import columns, land, loader, quarantined, records, rescued
from tests.support.harness import Project, Run

pytestmark = [pytest.mark.edge, pytest.mark.long("session")]

BOM = b"\xef\xbb\xbf"
JSON = {
    "good.json": BOM + b'{"id":1,"a":"x"}\r\n\r\n  \r\n{"id":2}\r\n',
    "bad.json": b'{"id":3}\nnot JSON\n[{"id":9}]\n[1,2]\n3\n"text"\nnull\n{"id":4}\n{"id":5,"a":"\xff\xfe"}\n'
    b'{"id":6}{"id":7}\n{"id":8,"a":1.10}\n{"id":1',
    "packed.json.gz": gzip.compress(b'{"id":10}\n\nworse\n'),
    "packed.json.bz2": bz2.compress(b'{"id":11}\n'),
    "empty.json": b"",
    "mark.json": BOM,
}
LENIENT = (
    b"{'id':1,'a':'x'}\n{id:2}\n{'id':'q'}\n{'id\n[1]\nnull\n{'id':4,'N':{'Sub':1,'t':['x']}}\n"
)
WHOLE = {
    "object.json": b'{"id":1,\n "a":"x"}\n',
    "array.json": b'[{"id":2},\n{"id":3,"b":true}]',
    "cut.json": b'{"id":4,\n "a":',
}
CSV = {
    "one.csv": 'id,name,when\n1,"a, ""b""",2024-01-01\n2,b\n3,"open,2024-01-02\n4,d,2024-01-03,x\n\n'
    'x,e,2024-01-04\n5,"f",never\n',
    "two.csv": BOM + b'name,id,extra\r\n"g",6,"z"\r\n"5"" pipe",7,\r\n',
    "twice.csv": "id,id\n1,2\n",
    "unnamed.csv": "id,\n1,2\n",
    "header.csv": "id,name,when\n",
    "nothing.csv": "",
}
LONG_CSV = {
    "long.csv": 'id,text\n1,"two\nlines, and ""quotes"""\n2,plain\n\n3,"a\r\nb"\n4\n',
    "stray.csv": 'id,text\n5,5" pipe\n6,x\n7,"9" wide"\n8,"y"\n9, "two\nlines"\n',
    "head.csv": 'id,"text\n10,z\n',
}
BARE_CSV = {"bare.csv": "1;a;'x;y'\n2;b;\n3;c\n"}
XML = {
    "good.xml": "<rows><row><id>1</id><name>a &amp; b</name></row><!-- <row> --><row><id>q</id>"
    "<name>c</name><extra>z</extra></row></rows>",
    "cut.xml": "<rows><row><id>3</id></row><row><id>4",
    "broken.xml": "<rows><row><id>5</id></row><row><id>6</wrong></row></rows>",
}
TEXT = {"a.txt": BOM + b"one\r\n\n  two  \nthree"}
GIVEN = {"schema": "id int, name string, when date", "schema_evolution": "rescue"}
ROW = {"format": "xml", "options": {"rowTag": "row"}}
#: Values that a reader of Spark's would round or cut to fit: id, m decimal(4, 1), d date, n int.
INEXACT = [
    (1, "1.25", "2024-05-02 10:00", "7"),
    (2, "1.20", "2024-05-02", "1.5"),
    (3, "1234.5", "2024-5-2", "8"),
]
EXACT = {"schema": "id int, m decimal(4, 1), d date, n int", "schema_evolution": "rescue"}
MODELS = {
    "json_exact": loader("json_exact", format="json", **EXACT),
    "csv_exact": loader("csv_exact", format="csv", **EXACT),
    "xml_exact": loader("xml_exact", **ROW, **EXACT),
    "json_texts": loader("json"),
    "json_null": loader("json", on_corrupt="null"),
    "json_lenient": loader(
        "lenient",
        format="json",
        infer_column_types=True,
        options={"allowSingleQuotes": True, "allowUnquotedFieldNames": True},
    ),
    "json_strict": loader("lenient", format="json"),
    "json_lenient_variant": loader(
        "lenient",
        format="json",
        single_variant_column="record",
        options={"allowSingleQuotes": True, "allowUnquotedFieldNames": True},
    ),
    "json_lenient_given": loader(
        "lenient",
        format="json",
        schema="id int",
        rescued_data_column="rest",
        options={"allowSingleQuotes": True, "allowUnquotedFieldNames": True},
    ),
    "json_whole": loader("whole", options={"multiLine": True}, format="json"),
    "json_variant": loader(
        "json", format="json", single_variant_column="record", schema_hints="day date"
    ),
    "csv_texts": loader("csv"),
    "csv_typed": loader("typed", infer_column_types=True),
    "csv_given": loader("csv", format="csv", **GIVEN),
    "csv_long": loader("long", format="csv", options={"multiLine": True}),
    "csv_bare": loader(
        "bare",
        format="csv",
        schema="id int, name string, rest string",
        options={"header": False, "sep": ";", "quote": "'"},
    ),
    "csv_places": loader("bare", format="csv", options={"header": False, "sep": ";", "quote": "'"}),
    "csv_variant": loader("csv", format="csv", single_variant_column="record"),
    "parquet": loader("parquet"),
    "orc": loader("orc"),
    "avro": loader("avro"),
    "holed": loader("holed"),
    "parquet_given": loader(
        "parquet", format="parquet", schema="id int, s struct<b: string>", schema_evolution="rescue"
    ),
    "xml_texts": loader("xml", **ROW),
    "xml_given": loader("xml", **ROW, schema="id int, name string", schema_evolution="rescue"),
    "xml_variant": loader("xml", **ROW, single_variant_column="record"),
    "text": loader("text"),
    "binary": loader("text", format="binary"),
    "strict": loader("json", on_corrupt="fail"),
    "few": loader("json", max_corrupt_fraction=0.5),
    "fewer": loader("json", max_corrupt_fraction=0.6),
}
AVRO = "org.apache.spark.sql.avro.AvroFileFormat"


@dataclass
class Story:
    project: Project
    run: Run = field(default_factory=lambda: Run(success=False))

    def rows(self, model: str, *names: str) -> list[Any]:
        found = [tuple(row.get(name) for name in names) for row in records(self.project, model)]
        return sorted(found, key=str)


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    project = make_project("formats")
    root = project.root
    for folder, files in {
        "json": JSON,
        "lenient": {"a.json": LENIENT},
        "whole": WHOLE,
        "csv": CSV,
        "typed": {
            "t.csv": "id,price,day,at,yes,name\n1,1.50,2024-05-01,2024-05-01 08:00:00,true,a\n,,,,,\n"
        },
        "long": LONG_CSV,
        "bare": BARE_CSV,
        "xml": XML,
        "text": TEXT,
        "json_exact": {
            "a.json": "".join(f'{{"id":{i},"m":{m},"d":"{d}","n":{n}}}\n' for i, m, d, n in INEXACT)
        },
        "csv_exact": {
            "a.csv": "id,m,d,n\n" + "".join(f"{','.join(map(str, row))}\n" for row in INEXACT)
        },
        "xml_exact": {
            "a.xml": "<rows>"
            + "".join(
                f"<row><id>{i}</id><m>{m}</m><d>{d}</d><n>{n}</n></row>" for i, m, d, n in INEXACT
            )
            + "</rows>"
        },
    }.items():
        land(root / folder, files)
    one = "select 1 as id, named_struct('b', 'x') as s"
    two = "select 2L as id, named_struct('b', 'y', 'c', 1.5D) as s, true as extra"
    for format, provider in {"parquet": "parquet", "orc": "orc", "avro": AVRO}.items():
        for number, query in enumerate((one, two)):
            project.sql(
                f"insert overwrite directory '{root}/made/{format}{number}' using `{provider}` {query}"
            )
            [file] = (root / "made" / f"{format}{number}").glob("part-*")
            land(root / format, {f"{number}.{format}": file.read_bytes()})
        land(root / format, {f"garbage.{format}": b"no such thing"})
    project.sql(
        f"insert overwrite directory '{root}/made/long' using parquet options (compression 'gzip') "
        "select /*+ coalesce(1) */ id, uuid() as text from range(1000)"
    )
    [file] = (root / "made" / "long").glob("part-*")
    whole = file.read_bytes()
    holed = whole[:2000] + bytes(3000) + whole[5000:]
    land(root / "holed", {"whole.parquet": whole, "holed.parquet": holed})
    for name, sql in MODELS.items():
        project.model(name, sql)
    return Story(project, project.dbt("run"))


def test_every_model_loads_but_those_that_may_not(story: Story) -> None:
    assert {name for name, status in story.run.status.items() if status != "success"} == {
        "strict",
        "few",
    }


def test_json_lines(story: Story) -> None:
    assert story.rows("json_texts", "id", "a") == [
        ("1", "x"),
        ("10", None),
        ("11", None),
        ("2", None),
        ("3", None),
        ("4", None),
        ("8", "1.10"),
    ]
    object = "not a JSON object"
    assert quarantined(story.project, "json_texts") == [
        ("bad.json", 2, "not JSON", object),
        ("bad.json", 3, '[{"id":9}]', object),
        ("bad.json", 4, "[1,2]", object),
        ("bad.json", 5, "3", object),
        ("bad.json", 6, '"text"', object),
        ("bad.json", 7, "null", object),
        ("bad.json", 9, '{"id":5,"a":"��"}', "not UTF-8"),
        ("bad.json", 10, '{"id":6}{"id":7}', object),
        ("bad.json", 12, '{"id":1', object),
        ("packed.json.gz", 3, "worse", object),
    ]


@pytest.mark.parametrize("format", ["json", "csv", "xml"])
def test_no_value_is_rounded_or_cut_to_fit(story: Story, format: str) -> None:
    model = f"{format}_exact"
    assert story.rows(model, "id", "m", "d", "n") == [
        (1, None, None, 7),
        (2, 1.2, "2024-05-02", None),
        (3, None, "2024-05-02", 8),
    ]
    found = {row["id"]: rescued(row) or {} for row in records(story.project, model)}
    number = float if format == "json" else str
    assert {key: {**value, "_file_path": ""} for key, value in found.items()} == {
        1: {"m": number("1.25"), "d": "2024-05-02 10:00", "_file_path": ""},
        2: {"n": number("1.5"), "_file_path": ""},
        3: {"m": number("1234.5"), "_file_path": ""},
    }


def test_json_as_lenient_as_the_options_say(story: Story) -> None:
    assert story.rows("json_lenient", "id", "a") == [
        ("1", "x"),
        ("2", None),
        ("4", None),
        ("q", None),
    ]
    assert columns(story.project, "json_lenient")["N"] == "struct<Sub:bigint,t:array<string>>"
    variants = [
        row["record"] for row in records(story.project, "json_lenient_variant", "to_json(record)")
    ]
    assert sorted(variants, key=lambda record: str(record["id"])) == [
        {"id": 1, "a": "x"},
        {"id": 2},
        {"id": 4, "N": {"Sub": 1, "t": ["x"]}},
        {"id": "q"},
    ]
    object = "not a JSON object"
    bad = [
        ("a.json", 4, "{'id", object),
        ("a.json", 5, "[1]", object),
        ("a.json", 6, "null", object),
    ]
    assert quarantined(story.project, "json_lenient") == bad
    assert sorted(str(row.get("id")) for row in records(story.project, "json_lenient_given")) == [
        "1",
        "2",
        "4",
        "None",
    ]
    rest = [rescued(row, "rest") for row in records(story.project, "json_lenient_given")]
    assert sorted(filter(None, rest), key=str) == [
        {"N": {"Sub": 1, "t": ["x"]}, "_file_path": "a.json"},
        {"a": "x", "_file_path": "a.json"},
        {"id": "q", "_file_path": "a.json"},
    ]
    assert records(story.project, "json_strict") == []
    assert [row[1] for row in quarantined(story.project, "json_strict")] == [1, 2, 3, 4, 5, 6, 7]


def test_null_keeps_a_corrupt_record_with_its_text_rescued(story: Story) -> None:
    kept = [row for row in records(story.project, "json_null") if "_corrupt" in str(row)]
    texts = sorted(rescued(row)["_corrupt_record"] for row in kept)
    assert len(texts) == 10
    assert texts[0] == '"text"'
    assert all(set(row) == {"_rescued_data"} for row in kept)
    [counts] = story.project.ledger("json_null", "rows_read, rows_kept, rows_quarantined")
    assert list(counts) == [17, 17, 0]


def test_json_of_several_lines(story: Story) -> None:
    assert story.rows("json_whole", "id", "a", "b") == [
        ("1", "x", None),
        ("2", None, None),
        ("3", None, "true"),
    ]
    assert quarantined(story.project, "json_whole") == [
        ("cut.json", None, '{"id":4,\n "a":', "not a JSON object")
    ]


def test_fail_names_what_is_corrupt(story: Story) -> None:
    message = story.run.message["strict"]
    assert (
        "10 of 17 records are corrupt, and files.on_corrupt is 'fail', so nothing was loaded"
        in message
    )
    assert 'bad.json: not a JSON object: "' in message
    assert (
        "10 of 17 records are corrupt, more than files.max_corrupt_fraction (0.5)"
        in (story.run.message["few"])
    )
    made = {row[1] for row in story.project.sql(f"show tables in {story.project.schema}")}
    assert not made & {"strict", "few", "strict__quarantine", "few__quarantine"}
    [row] = story.project.ledger("strict", "state, error")
    assert list(row) == ["failed", "10 of 17 records are corrupt"]


def test_one_variant_a_record(story: Story) -> None:
    found = [row["record"] for row in records(story.project, "csv_variant", "to_json(record)")]
    assert found[0] == {"extra": "z", "id": "6", "name": "g"}
    assert len(found) == 5
    assert len(records(story.project, "json_variant", "to_json(record)")) == 7
    # A hint is of a folder, which may come later.
    assert columns(story.project, "json_variant") == {"record": "variant", "day": "date"}
    assert records(story.project, "xml_variant", "to_json(record)") == [
        {"record": {"extra": "z", "id": "q", "name": "c"}},
        {"record": {"id": 1, "name": "a & b"}},
    ]


def test_csv(story: Story) -> None:
    assert story.rows("csv_texts", "id", "name", "when", "extra") == [
        ("1", 'a, "b"', "2024-01-01", None),
        ("5", "f", "never", None),
        ("6", "g", None, "z"),
        ("7", '5" pipe', None, None),
        ("x", "e", "2024-01-04", None),
    ]
    fields = "another number of fields than in the header"
    assert quarantined(story.project, "csv_texts") == [
        ("one.csv", 3, "2,b", fields),
        ("one.csv", 4, '3,"open,2024-01-02', "a quote is not closed"),
        ("one.csv", 5, "4,d,2024-01-03,x", fields),
        ("twice.csv", None, None, "its header has the column 'id' more than once"),
        ("unnamed.csv", None, None, "its header has a column without a name"),
    ]


def test_csv_with_types(story: Story) -> None:
    assert columns(story.project, "csv_typed") == {
        "id": "int",
        "price": "double",
        "day": "date",
        "at": "timestamp",
        "yes": "boolean",
        "name": "string",
        "_rescued_data": "string",
    }
    assert story.rows("csv_typed", "id", "price", "day", "yes", "name") == [
        (1, 1.5, "2024-05-01", True, "a"),
        (None, None, None, None, None),
    ]


def test_csv_values_that_do_not_fit_are_rescued_as_texts(story: Story) -> None:
    rows = records(story.project, "csv_given", "name")
    assert [(row.get("id"), row["name"], row.get("when"), rescued(row)) for row in rows] == [
        (7, '5" pipe', None, None),
        (1, 'a, "b"', "2024-01-01", None),
        (None, "e", "2024-01-04", {"id": "x", "_file_path": "one.csv"}),
        (5, "f", None, {"when": "never", "_file_path": "one.csv"}),
        (6, "g", None, {"extra": "z", "_file_path": "two.csv"}),
    ]


def test_csv_with_line_ends_between_quotes(story: Story) -> None:
    assert story.rows("csv_long", "id", "text") == [
        ("1", 'two\nlines, and "quotes"'),
        ("2", "plain"),
        ("3", "a\r\nb"),
        ("5", '5" pipe'),
        ("6", "x"),
        ("8", "y"),
        ("9", ' "two'),
    ]
    fields = "another number of fields than in the header"
    (head, _, _, reason), *others = quarantined(story.project, "csv_long")
    assert (head, reason) == ("head.csv", "its header has a quote that is not closed")
    assert [row[2:] for row in others] == [
        ("4", fields),
        ('7,"9" wide"', "a quote is not closed"),
        ('lines"', fields),
    ]


def test_csv_without_a_header_goes_by_position(story: Story) -> None:
    assert story.rows("csv_bare", "id", "name", "rest") == [(1, "a", "x;y"), (2, "b", None)]
    assert story.rows("csv_places", "_c0", "_c1", "_c2") == [("1", "a", "x;y"), ("2", "b", None)]
    assert [row[:3] for row in quarantined(story.project, "csv_bare")] == [("bare.csv", 3, "3;c")]


@pytest.mark.parametrize("format", ["parquet", "orc", "avro"])
def test_formats_with_types(story: Story, format: str) -> None:
    types = columns(story.project, format)
    assert types["extra"] == "boolean"
    assert types["s"] == "struct<b:string,c:double>"
    ids = sorted(row["id"] for row in records(story.project, format, "id"))
    assert ids == [1, 2]
    [(file, line, raw, reason)] = quarantined(story.project, format)
    assert (file, line, raw) == (f"garbage.{format}", None, None)
    assert reason.startswith(("[FAILED_", "not an Avro data file"))


def test_a_file_that_breaks_while_it_is_read_is_corrupt_and_the_others_load(story: Story) -> None:
    assert len(records(story.project, "holed")) == 1000
    [(file, _, raw, reason)] = quarantined(story.project, "holed")
    assert (file, raw) == ("holed.parquet", None)
    assert reason.startswith("[FAILED_READ_FILE")


def test_what_a_column_of_parquet_has_besides_is_rescued(story: Story) -> None:
    first, second = records(story.project, "parquet_given", "id")
    assert (first["id"], rescued(first)) == (1, None)
    assert second["s"] == {"b": "y"}
    assert rescued(second) == {"s": {"c": 1.5}, "extra": True, "_file_path": "1.parquet"}


def test_xml(story: Story) -> None:
    assert story.rows("xml_texts", "id", "name", "extra") == [("1", "a & b", None), ("q", "c", "z")]
    rows = records(story.project, "xml_given", "name")
    assert [(row.get("id"), row["name"], rescued(row)) for row in rows] == [
        (1, "a & b", None),
        (None, "c", {"id": "q", "extra": "z", "_file_path": "good.xml"}),
    ]
    assert quarantined(story.project, "xml_texts") == [
        ("broken.xml", None, None, "not well-formed XML"),
        ("cut.xml", None, None, "it is cut off: 2 records begin, 1 end"),
    ]


def test_text_and_binary(story: Story) -> None:
    found = sorted(row["value"] for row in records(story.project, "text"))
    assert found == ["", "  two  ", "one", "three"]
    [row] = records(story.project, "binary", "path")
    assert row["length"] == len(TEXT["a.txt"])
    assert list(columns(story.project, "binary")) == [
        "path",
        "modificationTime",
        "length",
        "content",
    ]


def test_a_file_that_is_corrupt_as_a_whole_says_so_in_the_ledger(story: Story) -> None:
    found = story.project.ledger("csv_texts", "path, state, rows, rows_quarantined", "files")
    states = {path.rpartition("/")[2]: rest for path, *rest in found}
    assert states["twice.csv"] == ["quarantined", 0, 1]
    assert states["header.csv"] == ["committed", 0, 0]
    assert states["one.csv"] == ["committed", 3, 3]
    assert states["two.csv"] == ["committed", 2, 0]
