"""Files that Spark's own readers would take for something else: JSON over several lines, CSV by odd options, folders."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from tests.support.files import columns, land, lines, loader, quarantined, records, rescued
from tests.support.harness import Project, Run

pytestmark = [pytest.mark.long("session"), pytest.mark.edge]

BOM = b"\xef\xbb\xbf"
WHOLE: dict[str, bytes | str] = {
    "array.json": '[{"id":1},\n{"id":"q"},{"id":2,"m":{"a":1.20}},{"id":3,"x":12345678901234567890.10}]\n',
    "cut.json": '[{"id":4},{"id":5',
    "numbers.json": "[1,2]",
    "mixed.json": '[{"id":6},5]',
    "text.json": '["{\\"id\\":7}"]',
    "hole.json": '[{"id":8},null]',
    "two.json": '{"id":9}\n{"id":10}',
    "behind.json": '[{"id":11}]\n[{"id":12}]',
    "none.json": "[]\n",
    "mark.json": BOM + b'\n[{"id":13,"x":1.50},{"id":"r"}]',
    "object.json": BOM + b'\r\n{"id":"s",\n "x":2.50}\n',
    "latin.json": b'[{"id":14,"x":"\xff"}]',
    "deep.json": '[{"id":15,"m":{"a":1.25}}]',
    "packed.json.gz": gzip.compress(b'[{"id":16}]'),
}
#: What is corrupt in these files, by their names: always the whole.
BAD = ["behind", "cut", "hole", "latin", "mixed", "numbers", "text", "two"]
LENIENT = {
    "a.json": "// exported\n[{'id':1}, {id:'it\\'s'}, /* 'x */ {'id':2,'x':[1.50,'5']}]",
    "b.json": "{'id':3} // the end",
    "c.json": "{'id':4}{'id':5}",
    "d.json": "[{'id':6}",
}
CSV: dict[str, dict[str, bytes | str]] = {
    "comment": {"a.csv": '# exported 2024\nid,name\n1,"a\nb"\n# 2,"x\n2,b\n3,"#\n#c"\n'},
    "low": {"a.csv": "id\x01name\n1\x01a\n2\x01\n"},
    "kept": {"a.csv": "id,name\n1,a\x01b\n"},
    "nulls": {"a.csv": "v\n1\nNA\n2\n"},
    "blanks": {"a.tsv": "a\tb\tc\n\tb\tc\n\t\t\n \n1\t2\t3\n"},
    "leading": {
        "a.csv": "\n\n# x\nid,name\n1,a\n",
        "b.csv": "id,name\n\n2,b\n#3,c\n",
        "c.csv": "\t\t\n# x\nid,name\n4,d\n",
    },
    "twins": {"a.csv": "id,texts\n1,a\nq,b\n"},
    "own": {"a.csv": "id,_metadata,value,line,is_open\n1,a,b,c,d\n2,e,f,g\n"},
    "ours_csv": {"a.csv": "id,_floodmark_reason,_floodmark_bad\n1,a,b\n2,c\n"},
    "headless": {"a.csv": "1;a\n2;b\n"},
    "tabs": {"a.csv": "id\tname\n1\ta\n"},
    "bare": {"a.csv": 'id,name\n1,"a b"\n2,"c\n'},
    "wide": {"a.csv": "\ufeffid,name\n1,ü\n2,b\n".encode("utf-16-le")},
}
STRUCT = "id int, m map<string, decimal(4, 1)>"
WIDE = [{"m": {"a": 1.25}}, {"m": {"a": 1.2, "b": 3}}, {"l": [{"n": {"x": 2.25}}]}]
MODELS = {
    "whole": loader(
        "whole",
        format="json",
        schema=STRUCT,
        schema_evolution="rescue",
        options={"multiLine": True},
    ),
    "whole_inferred": loader("whole", format="json", options={"multiLine": True}),
    "whole_variant": loader(
        "whole", format="json", single_variant_column="v", options={"multiLine": True}
    ),
    "whole_plain": loader("whole", format="json", schema="id int", options={"multiLine": True}),
    "whole_lenient": loader(
        "lenient",
        format="json",
        schema="id int",
        schema_evolution="rescue",
        options={
            "multiline": True,
            "allowsinglequotes": True,
            "AllowComments": True,
            "allowUnquotedFieldNames": True,
        },
    ),
    "comment": loader("comment", format="csv", options={"multiLine": True, "comment": "#"}),
    "low": loader("low", format="csv", options={"sep": "\x01"}),
    "kept": loader("kept"),
    "nulls": loader("nulls", format="csv", options={"nullValue": "NA"}),
    "blanks": loader(
        "blanks",
        format="csv",
        options={"sep": "\t", "ignoreLeadingWhiteSpace": True, "ignoreTrailingWhiteSpace": True},
    ),
    "leading": loader("leading", format="csv", options={"comment": "#"}),
    "twins": loader(
        "twins", format="csv", schema="id int, texts string", **{"schema_evolution": "rescue"}
    ),
    "own": loader("own"),
    "ours_csv": loader("ours_csv"),
    "ours_variant": loader("ours_csv", format="csv", single_variant_column="v"),
    "ours_json": loader("ours_json", format="json"),
    "ours_parquet": loader("ours_parquet", format="parquet"),
    "headless": loader("headless", format="csv", options={"Header": False, "SEP": ";"}),
    "tabs": loader("tabs", format="csv", options={"sep": "\\t"}),
    "bare": loader("bare", format="csv", options={"escape": ""}),
    "wide": loader("wide", format="csv", options={"encoding": "UTF-16LE"}),
    "maps": loader(
        "maps",
        format="json",
        schema="m map<string, decimal(4, 1)>, l array<struct<n: map<string, decimal(4, 1)>>>",
        schema_evolution="rescue",
    ),
    "flat": loader("flat", format="json", recursive=False),
    "flat_pattern": loader("years/*", format="json", schema="id int", recursive=False),
    "parted": loader("flat", format="json"),
    "begins": loader("begins", format="json", schema="id int", include_existing=False),
    "begins_inferred": loader("begins", format="json", include_existing=False),
    "begins_nowhere": loader("missing", format="json", include_existing=False),
    "lines_text": loader("texts", "value", format="text", options={"lineSep": ";"}),
    "whole_text": loader("texts", "value", format="text", options={"wholetext": True}),
    "upper": loader("upper", format="csv"),
}
#: Models whose settings change behind the first run.
HINTED = {
    "rescuing": {"path": "hints", "format": "json", "schema_evolution": "rescue"},
    "growing": {"path": "spaces", "format": "csv"},
    "waiting": {"path": "hints", "format": "json"},
}
HINTS = {
    "rescuing": "n int, S.deep.er date",
    "growing": "`order id` int",
    "waiting": "later decimal(5, 2), id bigint",
}


@pytest.fixture(scope="module")
def told(make_project: Callable[..., Project]) -> tuple[Project, list[Run]]:
    project = make_project("odd_files")
    root = project.root
    land(root / "whole", WHOLE)
    land(root / "lenient", LENIENT)
    for folder, files in CSV.items():
        land(root / folder, files)
    land(root / "maps", {"a.json": lines(*WIDE)})
    land(
        root / "flat",
        {
            "a.json": lines({"id": 1}),
            "day=2024-05-01/b.json": lines({"id": 2}),
            "more/c.json": lines({"id": 3}),
        },
    )
    land(
        root / "years",
        {
            "one/a.json": lines({"id": 1}),
            "two/b.json": lines({"id": 2}),
            "two/k=v/c.json": lines({"id": 3}),
            "d.json": lines({"id": 4}),
        },
    )
    ours: dict[str, Any] = {"_floodmark_bad": "x", "_floodmark_why": "y"}
    more = {"_floodmark_record": {"z": 1}}
    land(
        root / "ours_json",
        {"_rescued_data=1/_metadata=2/a.json": lines({"id": 1} | ours | more, "not json")},
    )
    (root / "ours_parquet").mkdir()
    parquet.write_table(
        pa.Table.from_pylist([{"id": 1} | ours]), root / "ours_parquet" / "a.parquet"
    )
    (root / "begins").mkdir()
    land(root / "texts", {"a.txt": "a;b\nc;d", "b.txt": "  "})
    land(
        root / "upper",
        {"a.CSV": "id\n1\n", "B.CSV.GZ": gzip.compress(b"id\n2\n"), "c.csv": "id\n3\n"},
    )
    land(root / "hints", {"a.json": lines({"id": 1}, {"id": 2, "s": {"x": 1}})})
    land(root / "spaces", {"a.csv": "id,order id\n1,7\n"})
    for name, sql in MODELS.items():
        project.model(name, sql)
    for name, files in HINTED.items():
        project.model(
            name, loader(files["path"], **{k: v for k, v in files.items() if k != "path"})
        )
    runs = [project.dbt("run")]
    again = [*HINTED, "begins", "begins_inferred", "begins_nowhere"]
    # Names that a hint brings are selected under others.
    selected = {
        "growing": "id, `order id` as order_id, _rescued_data",
        "waiting": "id, later, _rescued_data",
    }
    for name, files in HINTED.items():
        project.model(
            name,
            loader(
                files["path"],
                selected.get(name, "* except (_metadata)"),
                {"on_schema_change": "append_new_columns"},
                schema_hints=HINTS[name],
                **{k: v for k, v in files.items() if k != "path"},
            ),
        )
    for folder in ("begins", "missing"):
        land(root / folder, {"a.json": lines({"id": 1})})
    land(
        root / "hints",
        {
            "b.json": lines(
                {"id": 3, "n": 5, "s": {"deep": {"er": "2024-05-01"}}}, {"id": 4, "n": "q"}
            )
        },
    )
    land(root / "spaces", {"b.csv": "id,order id\n2,8\n3,q\n"})
    runs.append(project.dbt("run", "--select", *again))
    land(root / "hints", {"c.json": lines({"id": 5, "later": 1.5, "n": 6})})
    land(root / "spaces", {"c.csv": "order id,id\n9,4\n"})
    runs.append(project.dbt("run", "--select", *HINTED))
    return project, runs


def rows(project: Project, model: str, *names: str) -> list[Any]:
    found = [tuple(row.get(name) for name in names) for row in records(project, model)]
    return sorted(found, key=str)


def test_every_model_is_loaded(told: tuple[Project, list[Run]]) -> None:
    for run in told[1]:
        assert {n: run.message[n] for n, status in run.status.items() if status != "success"} == {}


def found_rest(project: Project, model: str) -> list[tuple[Any, Any]]:
    """The identity and the text of what is rescued, the file left out."""
    return [
        (row.get("id"), row["_rescued_data"].partition(',"_file_path"')[0])
        for row in records(project, model)
        if "_rescued_data" in row
    ]


def test_json_over_several_lines(told: tuple[Project, list[Run]]) -> None:
    project, _ = told
    assert sorted(row["id"] for row in records(project, "whole") if "id" in row) == [
        1,
        2,
        3,
        13,
        15,
        16,
    ]
    assert sorted(found_rest(project, "whole"), key=str) == [
        (13, '{"x":1.50'),
        (15, '{"m":{"a":1.25}'),
        (3, '{"x":12345678901234567890.10'),
        (None, '{"id":"q"'),
        (None, '{"id":"r"'),
        (None, '{"id":"s","x":2.50'),
    ]
    assert [row["m"] for row in records(project, "whole") if "m" in row] == [{"a": 1.2}]


@pytest.mark.parametrize("model", ["whole", "whole_inferred", "whole_plain"])
def test_a_file_that_is_no_json_is_corrupt(told: tuple[Project, list[Run]], model: str) -> None:
    found = quarantined(told[0], model)
    assert [file.partition(".")[0] for file, *_ in found] == BAD
    assert {file: raw for file, _, raw, _ in found if file == "mixed.json"} == {
        "mixed.json": WHOLE["mixed.json"]
    }
    assert {reason for *_, reason in found} == {"not a JSON object", "not UTF-8"}
    assert len(records(told[0], model)) == 9


def test_a_file_as_one_variant(told: tuple[Project, list[Run]]) -> None:
    project, _ = told
    found = [file.partition(".")[0] for file, *_ in quarantined(project, "whole_variant")]
    assert found == ["behind", "cut", "latin", "two"]
    assert all("v" in row for row in records(project, "whole_variant", "to_json(v)"))


def test_lenient_json_over_several_lines(told: tuple[Project, list[Run]]) -> None:
    project, _ = told
    assert rows(project, "whole_lenient", "id") == [(1,), (2,), (3,), (None,)]
    # Of what a lenient reader finds within arrays the values count, not how they are written.
    assert sorted(found_rest(project, "whole_lenient"), key=str) == [
        (2, '{"x":[1.5,"5"]'),
        (None, '{"id":"it\'s"'),
    ]
    assert [file for file, *_ in quarantined(project, "whole_lenient")] == ["c.json", "d.json"]


def counted(project: Project, model: str, column: str) -> int:
    """The sum of a column over a model's files in the ledger."""
    return sum(count for count, _ in project.ledger(model, f"{column}, batch_id", "files"))


@pytest.mark.parametrize(
    ("model", "expected", "corrupt"),
    [
        ("comment", [("1", "a\nb"), ("2", "b"), ("3", "#\n#c")], 0),
        ("low", [("1", "a"), ("2", None)], 0),
        ("kept", [("1", "a\x01b")], 0),
        ("nulls", [("1",), ("2",), (None,)], 0),
        ("blanks", [("1", "2", "3"), (None, "b", "c"), (None, None, None)], 0),
        ("leading", [("1", "a"), ("2", "b"), ("4", "d")], 0),
        ("headless", [("1", "a"), ("2", "b")], 0),
        ("tabs", [("1", "a")], 0),
        ("wide", [("1", "ü"), ("2", "b")], 0),
        ("bare", [("1", "a b")], 1),
    ],
)
def test_csv_options(
    told: tuple[Project, list[Run]], model: str, expected: list[Any], corrupt: int
) -> None:
    project, _ = told
    names = [name for name in columns(project, model) if name != "_rescued_data"]
    assert rows(project, model, *names) == expected
    assert counted(project, model, "rows_quarantined") == corrupt


def test_a_quote_that_nothing_escapes(told: tuple[Project, list[Run]]) -> None:
    assert quarantined(told[0], "bare") == [("a.csv", 3, '2,"c', "a quote is not closed")]


def test_csv_columns_with_names_of_our_own(told: tuple[Project, list[Run]]) -> None:
    project, runs = told
    assert rows(project, "twins", "id", "texts") == [(1, "a"), (None, "b")]
    assert [rescued(row) for row in records(project, "twins") if "id" not in row] == [
        {"id": "q", "_file_path": "a.csv"}
    ]
    assert rows(project, "own", "id", "value", "line", "is_open") == [("1", "b", "c", "d")]
    assert "_metadata" not in columns(project, "own")
    assert "files have columns that cannot be read: '_metadata'." in runs[0].log
    assert [row[1] for row in quarantined(project, "own")] == [3]


def test_names_that_floodmark_uses_stop_nothing(told: tuple[Project, list[Run]]) -> None:
    project, runs = told
    for model in ("ours_csv", "ours_json", "ours_parquet"):
        assert columns(project, model).keys() == {"id", "_rescued_data"}, model
        assert rows(project, model, "id", "_rescued_data") == [
            (1 if model == "ours_parquet" else "1", None)
        ], model
    assert [row["v"] for row in records(project, "ours_variant")] == [
        {"id": "1", "_floodmark_reason": "a", "_floodmark_bad": "b"}
    ]
    for model in ("ours_csv", "ours_variant"):
        assert quarantined(project, model) == [
            ("a.csv", 3, "2,c", "another number of fields than in the header")
        ]
    assert quarantined(project, "ours_json") == [("a.json", 2, "not json", "not a JSON object")]
    for level in ("_rescued_data", "_metadata"):
        assert f"the folders have a level '{level}=', which gives no column" in runs[0].log
    for names in (
        "'_floodmark_reason', '_floodmark_bad'",
        "'_floodmark_bad', '_floodmark_record', '_floodmark_why'",
        "'_floodmark_bad', '_floodmark_why'",
    ):
        assert f"files have columns that cannot be read: {names}. Their values" in runs[0].log


def test_decimals_in_maps_are_not_rounded(told: tuple[Project, list[Run]]) -> None:
    project, _ = told
    assert [row.get("m") for row in records(project, "maps")].count({"a": 1.2, "b": 3.0}) == 1
    assert [row["m"] for row in records(project, "maps") if "m" in row] == [{"a": 1.2, "b": 3.0}]
    assert sorted(
        json.dumps(rescued(row)) for row in records(project, "maps") if "_rescued_data" in row
    ) == [
        '{"l": [{"n": {"x": 2.25}}], "_file_path": "a.json"}',
        '{"m": {"a": 1.25}, "_file_path": "a.json"}',
    ]


def test_the_folder_alone(told: tuple[Project, list[Run]]) -> None:
    project, _ = told
    assert rows(project, "flat", "id", "day") == [("1", None)]
    assert rows(project, "flat_pattern", "id") == [(1,), (2,), (4,)]
    assert rows(project, "parted", "id", "day") == [("1", None), ("2", "2024-05-01"), ("3", None)]


def test_what_lands_behind_an_empty_folder_is_loaded(told: tuple[Project, list[Run]]) -> None:
    project, _ = told
    assert rows(project, "begins", "id") == [(1,)]
    assert rows(project, "begins_inferred", "id") == [("1",)]
    assert rows(project, "begins_nowhere", "id") == [("1",)]


def test_the_rows_of_texts_are_counted_as_they_are_read(told: tuple[Project, list[Run]]) -> None:
    project, _ = told
    assert rows(project, "lines_text", "value") == [("  ",), ("a",), ("b\nc",), ("d",)]
    assert rows(project, "whole_text", "value") == [("  ",), ("a;b\nc;d",)]
    for model, count in {"lines_text": 4, "whole_text": 2}.items():
        assert counted(project, model, "rows") == count


def test_an_ending_in_capitals_is_no_codec_of_sparks(told: tuple[Project, list[Run]]) -> None:
    project, _ = told
    assert rows(project, "upper", "id") == [("1",), ("3",)]
    [(file, _, raw, reason)] = quarantined(project, "upper")
    assert (file, raw) == ("B.CSV.GZ", None)
    assert reason.startswith("packed as .GZ, which Spark does not unpack")


def test_a_hint_that_comes_later_brings_its_column(told: tuple[Project, list[Run]]) -> None:
    project, runs = told
    assert columns(project, "rescuing")["n"] == "int"
    assert rows(project, "rescuing", "id", "n") == [
        ("1", None),
        ("2", None),
        ("3", 5),
        ("4", None),
        ("5", 6),
    ]
    assert rows(project, "growing", "id", "order_id") == [
        ("1", None),
        ("2", 8),
        ("3", None),
        ("4", 9),
    ]
    assert columns(project, "waiting")["later"] == "decimal(5,2)"
    assert columns(project, "waiting")["id"] == "string"
    assert (
        "files.schema_hints cannot change what the table has: id bigint (id is string). Correct them, or run once "
        "with --full-refresh"
    ) in runs[1].log
    assert [row["later"] for row in records(project, "waiting") if "later" in row] == [1.5]
