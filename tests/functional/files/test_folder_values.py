"""Columns that folders, a setting or another case give: values that do not fit, and files that have them inside."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.support.files import columns, land, lines, loader, records, rescued
from tests.support.harness import Project

pytestmark = [pytest.mark.edge, pytest.mark.long("thrift")]

RESCUES = {"schema_evolution": "rescue"}
#: A model for each format, the files of its first batch, and those of its second.
MODELS = {
    "json": ({"format": "json", "infer_column_types": True}, "{file}.json"),
    "csv": ({"format": "csv", "infer_column_types": True}, "{file}.csv"),
}


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("folder_values")
    for format, (given, name) in MODELS.items():
        folder = project.root / format
        land(folder, {"store=1/" + name.format(file="a"): written(format, {"id": 1})})
        project.model(format, loader(format, **given))
    land(project.root / "typed", {"store=7/a.json": lines({"id": 1})})
    schema = {"format": "json", "schema": "id int, store string", **RESCUES}
    project.model("typed", loader("typed", **schema))
    project.build()
    for format, (_, name) in MODELS.items():
        more = {
            # The path has no such level: what stands in the file counts.
            name.format(file="inside"): written(format, {"id": 2, "store": 2}),
            name.format(file="odd"): written(format, {"id": 3, "store": "x"}),
            # The path beats the file, and nothing of the file is rescued.
            "store=4/" + name.format(file="both"): written(format, {"id": 4, "store": 40}),
            # A value of the path that does not fit is rescued.
            "store=abc/" + name.format(file="b"): written(format, {"id": 5}),
            "store=__HIVE_DEFAULT_PARTITION__/" + name.format(file="c"): written(format, {"id": 6}),
        }
        land(project.root / format, more)
    project.build()
    return project


def written(format: str, record: dict) -> str:
    if format == "json":
        return lines(record)
    return ",".join(record) + "\n" + ",".join(map(str, record.values())) + "\n"


@pytest.mark.parametrize("format", MODELS)
def test_each_record_has_the_value_of_its_path_or_its_own(project: Project, format: str) -> None:
    found = {row["id"]: row for row in records(project, format)}
    assert {n: row.get("store") for n, row in found.items()} == {
        1: 1,
        2: 2,
        3: None,
        4: 4,
        5: None,
        6: None,
    }
    assert columns(project, format)["store"] == "int"
    _, name = MODELS[format]
    kept = {n: rescued(row) for n, row in found.items()}
    assert kept == {
        1: None,
        2: None,
        3: {"store": "x", "_file_path": name.format(file="odd")},
        4: None,
        5: {"store": "abc", "_file_path": name.format(file="b")},
        6: None,
    }


def test_a_schema_types_the_columns_of_folders(project: Project) -> None:
    assert columns(project, "typed")["store"] == "string"
    assert records(project, "typed") == [{"id": 1, "store": "7"}]


def test_a_column_of_records_keeps_its_type_where_folders_give_it_later(project: Project) -> None:
    land(project.root / "later", {"a.json": lines({"id": 1, "store": "A"})})
    project.model("later", loader("later", format="json"))
    project.build("--select", "later")
    land(
        project.root / "later",
        {"store=2/b.json": lines({"id": 2}), "c.json": lines({"id": 3, "store": "C"})},
    )
    project.build("--select", "later")
    found = {row["id"]: row["store"] for row in records(project, "later")}
    assert found == {"1": "A", "2": "2", "3": "C"}
    assert columns(project, "later")["store"] == "string"


def test_texts_keep_every_value_of_a_folder(project: Project) -> None:
    land(project.root / "texts", {"shard=1/a.log": "a\n"})
    project.model("logs", loader("texts"))
    project.model("hinted_logs", loader("texts", format="text", schema_hints="shard int"))
    project.build("--select", "logs", "hinted_logs")
    land(
        project.root / "texts",
        {"shard=007/b.log": "b\n", "shard=web/day=2024-05-01/c.log": "c\n"},
    )
    project.build("--select", "logs", "hinted_logs")
    assert columns(project, "logs") == {"value": "string", "shard": "string", "day": "string"}
    assert columns(project, "hinted_logs")["shard"] == "int"
    found = {row["value"]: (row.get("shard"), row.get("day")) for row in records(project, "logs")}
    assert found == {"a": ("1", None), "b": ("007", None), "c": ("web", "2024-05-01")}
    # What a batch has added, for `floodmark plan` too.
    assert project.ledger("logs", "added", "file_schemas") == [("[]",), ('[["day"]]',)]


def test_a_folder_takes_no_column_of_the_format(project: Project) -> None:
    """The record has it: of a text nothing would be left."""
    land(project.root / "taken", {"value=1/day=2/a.txt": "a\n", "length=5/path=6/b.txt": "b\n"})
    project.model("taken_text", loader("taken", format="text"))
    project.model("taken_binary", loader("taken", "length, value, day", format="binary"))
    run = project.build("--select", "taken_text", "taken_binary")
    for level in ("value", "length", "path"):
        assert f"the folders have a level '{level}=', which gives no column" in run.log
    texts = {row["value"]: row.get("length") for row in records(project, "taken_text")}
    assert texts == {"a": None, "b": "5"}
    assert records(project, "taken_binary", "value nulls last") == [
        {"length": 2, "value": "1", "day": "2"},
        {"length": 2},
    ]


@pytest.mark.parametrize(
    # Spark reads no Parquet without columns, so such a file is corrupt as a whole.
    ("format", "state"),
    [("parquet", "quarantined"), ("avro", "committed")],
)
def test_files_without_columns_stop_nothing(project: Project, format: str, state: str) -> None:
    def write(name: str, ids: list[int] | None) -> None:
        rows: list[dict[str, int]] = [{"id": one} for one in ids or []]
        sink = io.BytesIO()
        if format == "parquet":
            pq.write_table(pa.table({"id": pa.array(ids, pa.int64())} if ids else {}), sink)
        else:
            fields = [{"name": "id", "type": "long"}] if ids else []
            fastavro.writer(sink, {"type": "record", "name": "r", "fields": fields}, rows or [{}])
        land(project.root / f"bare_{format}", {f"{name}.{format}": sink.getvalue()})

    model = f"bare_{format}"
    project.model(model, loader(model, format=format))
    for name, ids in (("a", [1]), ("b", None), ("c", [2])):
        write(name, ids)
        project.build("--select", model)
    found = records(project, model)
    assert sorted(row["id"] for row in found if "id" in row) == [1, 2]
    counted = project.ledger(model, "state, rows", "files")
    assert [told for told, _ in counted] == ["committed", state, "committed"]
    assert sum(rows for _, rows in counted) == len(found)


def test_columnar_files_have_the_column_inside(project: Project) -> None:
    folder = project.root / "columnar"
    for path, row in (
        ("store=1", "1 as id, map(7, 'a') as m, date'2024-05-01' as at"),
        ("more", "2 as id, 2L as store, timestamp'2024-05-01 08:00:00' as at"),
        ("odd", "3 as id, 'x' as store"),
    ):
        project.sql(f"insert overwrite directory '{folder}/{path}' using parquet select {row}")
    project.model("columnar", loader("columnar", format="parquet", glob="*.parquet"))
    schema = "id int, m map<int,string>"
    project.model("keyed", loader("columnar", format="parquet", glob="*.parquet", schema=schema))
    project.build("--select", "columnar", "keyed")
    assert [row["m"] for row in records(project, "keyed") if "m" in row] == [{"7": "a"}]
    found = {row["id"]: (row.get("store"), rescued(row)) for row in records(project, "columnar")}
    assert found[1] == (1, None) and found[2] == (2, None)
    # No type is both a date and a timestamp with a zone.
    texts = {row["id"]: row.get("at") for row in records(project, "columnar")}
    assert texts == {1: "2024-05-01", 2: "2024-05-01 08:00:00", 3: None}
    assert found[3][0] is None and found[3][1]["store"] == "x"


#: A model each: its `files`, what lands before its two runs, and what changes in its settings between them.
Given = tuple[dict[str, Any], dict[str, str], dict[str, str], dict[str, Any]]
CASES: dict[str, Given] = {
    "hinted": (
        {"format": "json", "schema_evolution": "rescue"},
        {"a.json": lines({"id": 1})},
        {"b.json": lines({"id": 2, "x": 7})},
        {"schema_hints": "x int"},
    ),
    "hinted_within": (
        {"format": "json", "schema_evolution": "rescue"},
        {"a.json": lines({"id": 1, "s": {"a": 1}})},
        {"b.json": lines({"id": 2, "s": {"a": 1, "b": 7}})},
        {"schema_hints": "s.b int"},
    ),
    "mapped": (
        {"format": "json", "schema_hints": "tags.value int"},
        {"a.json": lines({"id": 1, "tags": {"x": 1, "y": 2}})},
        {"b.json": lines({"id": 2, "tags": {"z": 3}})},
        {},
    ),
    "twins": (
        {"format": "json"},
        {"a.json": lines({"id": 1})},
        {"b.json": lines({"id": 2, "to": {"Zip": "1"}}, {"id": 3, "to": {"zip": "2"}})},
        {},
    ),
    "failing": (
        {"format": "json", "schema_evolution": "fail"},
        {"store=1/a.json": lines({"id": 1, "store": "x"})},
        {"store=2/b.json": lines({"id": 2, "store": "x"})},
        {},
    ),
    "cased": (
        {"format": "csv"},
        {"region=EU/a.csv": "id\n1\n"},
        {"b.csv": "id,Region\n2,US\n"},
        {},
    ),
    "headless": (
        {"format": "csv", "schema": "day date, id int, amount int", "options": {"header": False}},
        {"day=2024-05-01/a.csv": "1,5\n"},
        {"day=2024-05-02/b.csv": "2,6\n"},
        {},
    ),
    "later": (
        {"format": "json", "schema": "id int, region string"},
        {"a.json": lines({"id": 1, "region": "US"})},
        {"region=EU/b.json": lines({"id": 2})},
        {},
    ),
    "checked": (
        {"format": "json", "schema_hints": "price decimal(4,1), at timestamp"},
        {"price=1.5/at=2024-05-01 08%3A00/a.json": lines({"id": 1})},
        {"price=1.25/at=08%3A30/b.json": lines({"id": 2})},
        {},
    ),
}


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Project:
    project = make_project("columns_of_folders")
    for name, (files, first, _, _) in CASES.items():
        land(project.root / name, first)
        project.model(name, loader(name, **files))
    project.build()
    for name, (files, _, later, more) in CASES.items():
        land(project.root / name, later)
        project.model(name, loader(name, **files | more))
    project.build()
    return project


def found(project: Project, model: str) -> dict[int, dict[str, Any]]:
    rows = {}
    for row in records(project, model):
        kept = rescued(row)
        rows[int(row["id"])] = {key: row[key] for key in row if key not in ("id", "_rescued_data")}
        if kept:
            rows[int(row["id"])]["rescued"] = {k: v for k, v in kept.items() if k != "_file_path"}
    return rows


@pytest.mark.parametrize(
    ("model", "rows"),
    [
        ("hinted", {1: {}, 2: {"x": 7}}),
        ("hinted_within", {1: {"s": {"a": "1"}}, 2: {"s": {"a": "1", "b": 7}}}),
        ("mapped", {1: {"tags": {"x": 1, "y": 2}}, 2: {"tags": {"z": 3}}}),
        ("twins", {1: {}, 2: {"to": {"Zip": "1"}}, 3: {"to": {}, "rescued": {"to": {"zip": "2"}}}}),
        ("failing", {1: {"store": "1"}, 2: {"store": "2"}}),
        ("cased", {1: {"region": "EU"}, 2: {"rescued": {"Region": "US"}}}),
        (
            "headless",
            {1: {"day": "2024-05-01", "amount": 5}, 2: {"day": "2024-05-02", "amount": 6}},
        ),
        ("later", {1: {"region": "US"}, 2: {"region": "EU"}}),
        (
            "checked",
            {
                1: {"price": 1.5, "at": "2024-05-01T08:00:00.000Z"},
                2: {"rescued": {"price": "1.25", "at": "08:30"}},
            },
        ),
    ],
)
def test_nothing_of_a_record_is_lost(
    story: Project, model: str, rows: dict[int, dict[str, Any]]
) -> None:
    assert found(story, model) == rows
