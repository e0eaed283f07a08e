"""Records of XML: what is nested in them is kept and rescued as it is of JSON, in texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from xml.sax.saxutils import escape

import pytest

from tests.support.files import columns, land, lines, loader, quarantined, records, rescued
from tests.support.harness import Project

pytestmark = [pytest.mark.edge, pytest.mark.long("session")]

FIRST = [
    {"id": 1, "who": {"age": 3, "at": {"zip": "z"}}, "kids": [{"age": 1}, {"age": 2}]},
    {"id": 2, "who": {"age": 30, "at": {"zip": "y"}}, "kids": [{"age": 4}]},
]
SECOND = [
    {"id": 3, "who": {"age": "old", "at": {"zip": "x"}}},
    {"id": 4, "who": {"age": 5, "extra": "x", "at": {"zip": "w", "deep": {"b": "c"}}}},
    {"id": 5, "kids": [{"age": 6}, {"age": "young"}, {"age": 7, "extra": "a & b"}]},
    {"id": 6, "ID": 60, "who": {"Age": 8}, "new": {"b": "c", "d": ["e", "f"]}},
    {"id": 7, "who": {"age": 3000000000, "at": {"zip": "v"}}},
    {"id": 8, "who": {"age": ["a", "b"], "at": {"zip": ["c", "d & e"]}}},
]
GIVEN = "id int, who struct<age: int, at: struct<zip: string>>, kids array<struct<age: int>>"
SETTINGS: dict[str, dict[str, Any]] = {
    "kept": {"schema": GIVEN, "schema_evolution": "rescue"},
    "rest": {"schema": GIVEN, "rescued_data_column": "_rescued_data"},
    "plain": {"schema": GIVEN},
    "grown": {"infer_column_types": True},
    "texts": {},
    "alike": {
        "schema": "Id int, WHO struct<AGE: int, AT: struct<ZIP: string>>, NEW struct<B: string>",
        "case_sensitive": False,
        "schema_evolution": "rescue",
    },
    "quiet": {"schema": "Id int, WHO struct<AGE: int>", "case_sensitive": False},
}
#: In XML alone: an element that holds a text in one record and elements in another, is empty, has attributes, or
#: stands in a record many times.
MIXED = (
    "<rows><row><id>1</id><who>text</who></row><row><id>2</id><who kind='k'><age>3</age></who></row>"
    "<row><id> 08 </id><who><age/></who></row><row><id>4</id><who/><tags>5</tags></row>"
    "<row><id>5</id><tags>6</tags><tags>seven</tags></row>"
    "<row><id>9</id><id>10</id><who><age>1</age></who></row>"
    "<row><id>6</id><who><age>1</age></who><who><age>2</age></who></row>"
    "<row><id>7</id><who><age>1</age><age>2</age></who></row></rows>"
)
MIXED_MODELS = {
    name: loader(
        "mixed",
        format="xml",
        options={"rowTag": "row"},
        schema="id int, who struct<age: int>, tags array<int>",
        schema_evolution=name,
    )
    for name in ("rescue", "none")
}

#: Attributes of elements whose columns have only their texts, in the second run.
VALUED = {
    "1": "<rows><row><id>1</id><amount>12.50</amount><note>a</note><tags>x</tags><tags>y</tags></row></rows>",
    "2": "<rows><row><id>2</id><amount currency='USD'>9.00</amount><note lang='en'>b</note><tags>u</tags>"
    "<tags kind='k'>v</tags></row><row><id>3</id><amount currency='EUR'>much</amount><note>c</note>"
    "<tags>w</tags></row><row><id>4</id><amount>many</amount><note lang='de'/></row>"
    "<row><id>5</id><note>d</note><note lang='fr'>e</note></row></rows>",
}

#: An XSD that a record is to obey, and files of which one does not.
XSD = (
    '<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema"><xs:element name="row"><xs:complexType><xs:sequence>'
    '<xs:element name="id" type="xs:int"/></xs:sequence></xs:complexType></xs:element></xs:schema>'
)
CHECKED = {
    "good.xml": "<rows><row><id>1</id></row></rows>",
    "bad.xml": "<rows><row><id>2</id></row><row><id>q</id></row></rows>",
}


def element(name: str, value: Any) -> str:
    """A value as XML: a list is an element many times."""
    if isinstance(value, list):
        return "".join(element(name, one) for one in value)
    text = (
        "".join(element(key, one) for key, one in value.items())
        if isinstance(value, Mapping)
        else escape(str(value))
    )
    return f"<{name}>{text}</{name}>"


def named(encoding: str, declares: bool = True, of: str = "é") -> bytes:
    declaration = f'<?xml version="1.0" encoding="{encoding}"?>' if declares else ""
    return f"{declaration}<rows><row><of>{of}</of></row></rows>".encode(encoding)


LETTERS = {
    "utf16.xml": named("UTF-16"),
    "utf16_mark.xml": named("UTF-16", declares=False),
    "utf16le.xml": named("UTF-16LE"),
    "latin.xml": named("ISO-8859-1"),
    "windows.xml": named("windows-1252", of="€"),
    "signed.xml": named("UTF-8-SIG", declares=False),
    "undeclared.xml": named("ISO-8859-1", declares=False),
    "unknown.xml": named("UTF-8").replace(b"UTF-8", b"x-own"),
    "lies.xml": named("ISO-8859-1").replace(b"ISO-8859-1", b"UTF-8"),
    "cut.xml": named("UTF-16")[:-20],
}


def xml(rows: Iterable[Mapping[str, Any]]) -> str:
    return element("rows", {"row": list(rows)})


def texts(value: Any) -> Any:
    """A value whose numbers are texts."""
    if isinstance(value, Mapping):
        return {key: texts(one) for key, one in value.items() if key != "_file_path"}
    return [texts(one) for one in value] if isinstance(value, list) else value and str(value)


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("xml_records")
    for name, settings in SETTINGS.items():
        project.model(f"{name}_json", loader("json", format="json", **settings))
        project.model(
            f"{name}_xml", loader("xml", format="xml", options={"rowTag": "row"}, **settings)
        )
    for name, sql in MIXED_MODELS.items():
        project.model(f"mixed_{name}", sql)
    land(project.root / "mixed", {"a.xml": MIXED})
    land(project.root, {"row.xsd": XSD})
    land(project.root / "checked", CHECKED)
    options = {"rowTag": "row", "rowValidationXSDPath": str(project.root / "row.xsd")}
    project.model("checked", loader("checked", format="xml", schema="id int", options=options))
    # Names of elements have their case.
    capitals = {"format": "xml", "schema": "id int", "options": {"rowTag": "Row"}}
    project.model("capitals", loader("checked", **capitals))
    project.model("checked_inferred", loader("checked", format="xml", options=options))
    land(project.root / "letters", LETTERS)
    project.model("letters", loader("letters", format="xml", options={"rowTag": "row"}))
    project.model(
        "valued",
        loader(
            "valued",
            format="xml",
            options={"rowTag": "row"},
            schema_hints="amount decimal(10, 2)",
        ),
    )
    for name, rows in {"1": FIRST, "2": SECOND}.items():
        land(project.root / "valued", {f"{name}.xml": VALUED[name]})
        objects = [json.dumps(row, separators=(",", ":")) for row in rows]
        land(project.root, {f"json/{name}.json": lines(*objects), f"xml/{name}.xml": xml(rows)})
        run = project.dbt("run")
        assert set(run.status.values()) == {"success"}, run.log[-6000:]
        # The files are new in the first run alone.
        assert ("2 files have elements, but no <Row>, such as " in run.log) is (name == "1")
        assert "no <row>" not in run.log
    return project


def by_id(project: Project, model: str) -> dict[Any, dict[str, Any]]:
    return {row.get("id", row.get("Id")): row for row in records(project, model)}


def rescued_of(project: Project, model: str) -> dict[Any, Any]:
    return {id: texts(rescued(row)) for id, row in by_id(project, model).items()}


def test_what_does_not_fit_within_a_struct_or_an_array_is_rescued(project: Project) -> None:
    rows = by_id(project, "kept_xml")
    assert rows[3]["who"] == {"at": {"zip": "x"}}
    assert rows[4]["who"] == {"age": 5, "at": {"zip": "w"}}
    assert rows[5]["kids"] == [{"age": 6}, {}, {"age": 7}]
    assert rescued_of(project, "kept_xml") == {
        1: None,
        2: None,
        3: {"who": {"age": "old"}},
        4: {"who": {"extra": "x", "at": {"deep": {"b": "c"}}}},
        5: {"kids": [{"age": "6"}, {"age": "young"}, {"age": "7", "extra": "a & b"}]},
        6: {"ID": "60", "who": {"Age": "8"}, "new": {"b": "c", "d": ["e", "f"]}},
        7: {"who": {"age": "3000000000"}},
        8: {"who": {"age": ["a", "b"]}},
    }
    assert rescued_of(project, "rest_xml") == rescued_of(project, "kept_xml")


@pytest.mark.parametrize("model", SETTINGS)
def test_xml_is_loaded_as_json_is(project: Project, model: str) -> None:
    one, other = f"{model}_json", f"{model}_xml"
    assert columns(project, other) == columns(project, one)
    assert rescued_of(project, other) == rescued_of(project, one)
    rows = [by_id(project, name) for name in (one, other)]
    for row in [*rows[0].values(), *rows[1].values()]:
        row.pop("_rescued_data", None)
    assert rows[0] == rows[1]


def test_new_fields_grow_a_struct(project: Project) -> None:
    assert columns(project, "grown_xml")["who"] == (
        "struct<age:bigint,at:struct<zip:string,deep:struct<b:string>>,extra:string>"
    )
    assert by_id(project, "grown_xml")[4]["who"]["extra"] == "x"
    assert rescued_of(project, "grown_xml")[3] == {"who": {"age": "old"}}


def test_names_that_differ_in_case_alone_are_one_column(project: Project) -> None:
    # Both spellings of `id` are in the record; the first one is kept, and the other is rescued.
    row = by_id(project, "alike_xml")[60]
    assert (row["WHO"], row["NEW"]) == ({"AGE": 8}, {"B": "c"})
    assert rescued_of(project, "alike_xml")[60] == {"id": "6", "new": {"d": ["e", "f"]}}
    # Also where nothing is rescued.
    for model in ("quiet_json", "quiet_xml"):
        assert by_id(project, model)[2] == {"Id": 2, "WHO": {"AGE": 30}}


def test_what_json_does_not_have(project: Project) -> None:
    for model in ("mixed_rescue", "mixed_none"):
        rows = by_id(project, model)
        assert {id: (row.get("who"), row.get("tags")) for id, row in rows.items()} == {
            1: ({}, None),
            2: ({"age": 3}, None),
            8: ({}, None),
            4: ({}, [5]),
            5: (None, [6, None]),
            None: ({"age": 1}, None),
            6: (None, None),
            7: ({}, None),
        }
    assert rescued_of(project, "mixed_rescue") == {
        1: {"who": {"_VALUE": "text"}},
        2: {"who": {"_kind": "k"}},
        8: {"who": {"age": ""}},
        4: None,
        5: {"tags": ["6", "seven"]},
        None: {"id": ["9", "10"]},
        6: {"who": [{"age": "1"}, {"age": "2"}]},
        7: {"who": {"age": ["1", "2"]}},
    }


def test_attributes_of_a_text_are_rescued(project: Project) -> None:
    assert columns(project, "valued")["tags"] == "array<string>"
    rows = by_id(project, "valued")
    assert {id: tuple(map(row.get, ("amount", "note", "tags"))) for id, row in rows.items()} == {
        "1": (12.5, "a", ["x", "y"]),
        "2": (9, "b", ["u", "v"]),
        "3": (None, "c", ["w"]),
        "4": (None, "", None),
        "5": (None, '["d",{"_VALUE":"e","_lang":"fr"}]', None),
    }
    assert rescued_of(project, "valued") == {
        "1": None,
        "2": {
            "amount": {"_currency": "USD"},
            "note": {"_lang": "en"},
            "tags": ["u", {"_VALUE": "v", "_kind": "k"}],
        },
        "3": {"amount": {"_VALUE": "much", "_currency": "EUR"}},
        "4": {"amount": "many", "note": {"_lang": "de"}},
        "5": None,
    }


def test_a_file_that_breaks_its_xsd_is_corrupt(project: Project) -> None:
    assert records(project, "checked") == [{"id": 1}]
    assert quarantined(project, "checked") == [
        ("bad.xml", None, "<row><id>q</id></row>", "not valid against the XSD")
    ]
    # What does not pass gives no column.
    assert columns(project, "checked_inferred") == {"id": "string", "_rescued_data": "string"}
    assert records(project, "checked_inferred") == [{"id": "1"}]


def test_a_file_has_the_encoding_that_it_declares(project: Project) -> None:
    """By its first bytes, or its declaration; one that has none is UTF-8."""
    assert sorted(row["of"] for row in records(project, "letters")) == ["é"] * 5 + ["€"]
    assert {file: reason for file, _, _, reason in quarantined(project, "letters")} == {
        "undeclared.xml": "it has bytes that are no letters of utf-8, and it declares no other encoding",
        "unknown.xml": "its encoding x-own is not known",
        "lies.xml": "it has bytes that are no letters of utf-8",
        "cut.xml": "it is cut off: 1 records begin, 0 end",
    }
