"""Columns that grow where their values ask for it, and only there; and columns that somebody took back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.commands import command
from tests.support.files import columns, land, lines, loader, records, rescued
from tests.support.harness import Project, sentence

pytestmark = [pytest.mark.edge, pytest.mark.long("session")]

#: Columns by hints: what the second file gives them, and the type that this needs.
GROWN: dict[str, tuple[str, Any, Any, str]] = {
    # name: type, first value, second value, type afterwards
    "fits": ("smallint", 1, 2, "smallint"),
    "grows": ("smallint", 1, 40000, "int"),
    "is_long": ("int", 1, 5000000000, "bigint"),
    "money": ("decimal(10,2)", 1.25, 7, "decimal(10,2)"),
    "precise": ("decimal(10,2)", 1.25, 7.125, "decimal(11,3)"),
    "counted": ("int", 1, 1.5, "decimal(11,1)"),
    "long_counted": ("bigint", 1, 2.5, "decimal(21,1)"),
    "text": ("string", "a", "b", "string"),
    "ratio": ("float", 1.5, 2.25, "float"),
}
#: Files of two batches in which names differ in case alone, also those of new columns.
SPELLINGS = {
    "json": (
        {"0.json": lines({"Amount": 1})},
        {
            "1.json": lines({"AMOUNT": 1.5, "New": 1, "S": {"a": 1}}),
            "2.json": lines({"amount": 2, "new": 2.5, "s": {"b": 2}}),
        },
    ),
    "csv": (
        {"0.csv": "Amount\n1\n"},
        {"1.csv": "AMOUNT,New\n1.5,1\n", "2.csv": "amount,new\n2,2.5\n"},
    ),
}
CHECKED = """
config: {{contract: {{enforced: true}}}}
constraints: [{{type: check, name: positive, expression: "n > 0"}}]
columns:
  - {{name: id, data_type: string}}
  - {{name: n, data_type: {type}}}
"""
HINTS = ", ".join(f"{name} {type}" for name, (type, *_) in GROWN.items())


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("growing")
    given = {"schema_evolution": "widen", "schema_hints": HINTS}
    for format in ("json", "csv", "xml"):
        options = {"options": {"rowTag": "row"}} if format == "xml" else {}
        project.model(format, loader(format, format=format, **given, **options))
    cases = {"schema_evolution": "widen", "case_sensitive": False, "infer_column_types": True}
    for format in ("json", "csv"):
        project.model(f"cases_{format}", loader(f"cases_{format}", format=format, **cases))
    for n in (0, 1):
        record = {name: spec[1 + n] for name, spec in GROWN.items()}
        land(project.root / "json", {f"{n}.json": lines(record | {"nested": {"n": 1}})})
        land(project.root / "csv", {f"{n}.csv": csv(record)})
        land(project.root / "xml", {f"{n}.xml": xml(record)})
        for format in ("json", "csv"):
            land(project.root / f"cases_{format}", SPELLINGS[format][n])
        project.build()
    return project


def csv(record: dict[str, Any]) -> str:
    return ",".join(record) + "\n" + ",".join(map(str, record.values())) + "\n"


def xml(record: dict[str, Any]) -> str:
    fields = "".join(f"<{name}>{value}</{name}>" for name, value in record.items())
    return f"<rows><row>{fields}</row></rows>"


@pytest.mark.parametrize("format", ["json", "csv", "xml"])
def test_a_column_becomes_as_large_as_its_values(project: Project, format: str) -> None:
    types = columns(project, format)
    assert {name: types[name] for name in GROWN} == {name: s[3] for name, s in GROWN.items()}
    first, second = records(project, format, "grows")
    assert rescued(first) is None and rescued(second) is None
    assert {name: float(second[name]) for name in GROWN if name != "text"} == {
        name: float(s[2]) for name, s in GROWN.items() if name != "text"
    }


@pytest.mark.parametrize(("format", "grown"), [("json", "decimal(21,1)"), ("csv", "decimal(11,1)")])
def test_names_that_differ_in_case_alone_grow_as_one(
    project: Project, format: str, grown: str
) -> None:
    types, found = columns(project, f"cases_{format}"), records(project, f"cases_{format}")
    assert (types["Amount"], types["New"]) == (grown, "double")
    assert types.get("S") == ("struct<a:bigint,b:bigint>" if format == "json" else None)
    assert len(types) == (4 if format == "json" else 3)
    assert [(float(row["Amount"]), row.get("New")) for row in found] == [
        (1, None),
        (1.5, 1),
        (2, 2.5),
    ]
    assert all(rescued(row) is None for row in found)


def test_a_column_that_a_constraint_names_grows(project: Project) -> None:
    """The contract's own is off meanwhile; one of somebody else has to be dropped."""
    names = ("checked", "checked_by_hand")
    given = {"format": "json", "schema_evolution": "widen", "schema_hints": "id string, n int"}
    evolves = {"on_schema_change": "append_new_columns"}
    checked, by_hand = (loader(name, "id, n", config=evolves, **given) for name in names)
    project.model("checked", checked, CHECKED.format(type="int"))
    project.model("checked_by_hand", by_hand)
    for name in names:
        land(project.root / name, {"1.json": lines({"id": "a", "n": 1})})
    project.build("--select", *names)
    table = f"{project.schema}.checked_by_hand"
    project.sql(f"alter table {table} add constraint positive check (n > 0)")
    project.model("checked", checked, CHECKED.format(type="bigint"))
    for name in names:
        land(project.root / name, {"2.json": lines({"id": "b", "n": 3000000000})})
    run = project.dbt("run", "--select", *names)
    assert run.status["checked"] == "success", run.log
    properties = project.sql(f"show tblproperties {project.schema}.checked")
    assert "delta.constraints.positive" in {key for key, *_ in properties}
    assert run.status["checked_by_hand"] == "error"
    said = f"Drop the constraint (alter table {table} drop constraint NAME), run the model, and add"
    assert said in run.message["checked_by_hand"]
    project.sql(f"alter table {table} drop constraint positive")
    project.build("--select", "checked_by_hand")
    for name in names:
        assert columns(project, name)["n"] == "bigint"
        assert [row["n"] for row in records(project, name, "n")] == [1, 3000000000]


def test_column_mapping_that_the_config_asks_for_later_counts_once_the_table_is_made_anew(
    project: Project,
) -> None:
    """Until then Delta takes no such name, and its values are rescued."""
    folder, mapped = project.root / "blank", {"delta.columnMapping.mode": "name"}
    land(folder, {"1.json": lines({"id": 1})})
    project.model("blank", loader("blank", format="json"))
    project.build("--select", "blank")
    land(folder, {"2.json": lines({"id": 2, "net amount": 3})})
    project.model("blank", loader("blank", config={"tblproperties": mapped}, format="json"))
    run = project.build("--select", "blank")
    assert (
        "1 column has a name that Delta takes with column mapping alone: net amount (in" in run.log
    )
    found = {str(row["id"]): rescued(row) for row in records(project, "blank")}
    assert found == {"1": None, "2": {"net amount": 3, "_file_path": "2.json"}}
    project.build("--select", "blank", "--full-refresh")
    assert [*columns(project, "blank")] == ["id", "net amount", "_rescued_data"]


def test_a_column_that_was_taken_back_comes_again_in_the_type_that_the_table_has(
    project: Project,
) -> None:
    folder = project.root / "bent"
    land(folder, {"1.json": lines({"id": 1, "s": {"a": 1}})})
    project.model("bent", loader("bent", format="json", infer_column_types=True))
    project.build("--select", "bent")
    # One bad file gives a column a type that no other has.
    land(folder, {"2.json": lines({"id": 2, "amount": {"x": 1}, "s": {"b": [1]}})})
    project.build("--select", "bent")
    code, output = command(project, "files", "bent", "--reset-schema", "1")
    assert code == 0, output
    land(folder, {"3.json": lines({"id": 3, "amount": 5, "s": {"b": "text"}})})
    project.build("--select", "bent")
    found = {row["id"]: row for row in records(project, "bent")}
    assert "amount" not in found[3]
    kept = rescued(found[3])
    assert kept == {"amount": 5, "s": {"b": "text"}, "_file_path": "3.json"}
    # It holds for the batches behind that one, too.
    land(folder, {"4.json": lines({"id": 4, "amount": {"x": 2}})})
    project.build("--select", "bent")
    found = {row["id"]: row for row in records(project, "bent")}
    assert found[4]["amount"] == {"x": 2} and rescued(found[4]) is None


def test_a_name_that_several_files_have_is_not_guessed(project: Project) -> None:
    folder = project.root / "twins"
    land(folder, {f"{day}/a.json": lines({"id": n}) for n, day in enumerate(("mon", "tue"))})
    project.model("twins", loader("twins", format="json"))
    code, output = command(project, "files", "twins", "--skip", "a.json")
    assert code == 1
    assert "2 files are called 'a.json', such as file:" in sentence(output)
    assert "name more of the path" in sentence(output)
    code, output = command(project, "files", "twins", "--skip", "tue/a.json")
    assert code == 0, output
    project.build("--select", "twins")
    assert [row["id"] for row in records(project, "twins")] == ["0"]


def test_a_schema_alone_makes_the_table(project: Project) -> None:
    (project.root / "none").mkdir()
    given = {"schema": "id int, name string", "partition_columns": ["day"]}
    project.model("none", loader("none", **given))
    project.build("--select", "none")
    assert columns(project, "none") == {"id": "int", "name": "string", "day": "string"}
    land(project.root / "none", {"a.csv": "id,name\n1,x\n"})
    project.build("--select", "none")
    assert records(project, "none") == [{"id": 1, "name": "x"}]
    land(project.root / "none", {"b.csv": "id,name\n2,y\n"})
    project.build("--select", "none")
    assert len(records(project, "none")) == 2
