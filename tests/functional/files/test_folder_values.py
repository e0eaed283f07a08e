"""Columns that folders give: values that do not fit, and files that have such a column inside."""

from __future__ import annotations

from collections.abc import Callable

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


def test_columnar_files_have_the_column_inside(project: Project) -> None:
    folder = project.root / "columnar"
    for path, row in (
        ("store=1", "1 as id"),
        ("more", "2 as id, 2L as store"),
        ("odd", "3 as id, 'x' as store"),
    ):
        project.sql(f"insert overwrite directory '{folder}/{path}' using parquet select {row}")
    project.model("columnar", loader("columnar", format="parquet", glob="*.parquet"))
    project.build("--select", "columnar")
    found = {row["id"]: (row.get("store"), rescued(row)) for row in records(project, "columnar")}
    assert found[1] == (1, None) and found[2] == (2, None)
    assert found[3][0] is None and found[3][1]["store"] == "x"
