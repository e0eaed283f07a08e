"""`case_sensitive: false`: columns whose names differ in case alone are one. Without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.macros import load

SETTINGS: dict[str, Any] = {
    "format": "json",
    "schema": "id int",
    "infers": False,
    "infer_column_types": True,
    "schema_evolution": "none",
    "rescued_data_column": False,
    "single_variant_column": None,
    "options": {},
    "path": "file:/in",
    "glob": "*",
    "recursive": True,
}
#: What is seen, the known record, and the columns that these are.
COLUMNS = [
    (
        "struct<Amount:bigint,S:struct<a:bigint>,amount:decimal(2,1),s:struct<b:bigint>>",
        None,
        "struct<Amount:double,S:struct<a:bigint,b:bigint>>",
    ),
    (
        "struct<L:array<struct<X:bigint>>,l:array<struct<x:double,y:bigint>>>",
        "struct<l:array<struct<x:int>>>",
        "struct<l:array<struct<x:double,y:bigint>>>",
    ),
    ("struct<S:struct<A:bigint,a:bigint>,s:bigint>", "struct<s:int>", "struct<s:string>"),
]
FILES = [{"path": "file:/in/a.json"}]


def a_run(**given: Any) -> dict[str, Any]:
    return {"settings": {"files": SETTINGS | given}}


@pytest.mark.parametrize(("is_sensitive", "seen"), [(True, None), (False, "struct<ID:bigint>")])
@pytest.mark.parametrize("format", ["json", "xml"])
def test_a_given_schema_has_its_names_looked_for(
    format: str, is_sensitive: bool, seen: str | None
) -> None:
    floodmark = load(invocation_args_dict={"project_dir": "/p"})
    row = {"path": FILES[0]["path"], "rows": 1, "odd": 0}
    found = "OBJECT<ID: BIGINT>"
    floodmark._query_json = lambda sql: [row | {"seen": ("schema_of" in sql and found) or None}]
    floodmark._columns_of_files = lambda *_: [{"name": "ID", "ddl": "bigint"}]
    settings = SETTINGS | {"format": format, "case_sensitive": is_sensitive}
    look = getattr(floodmark, f"_look_at_{format}")({"settings": {"files": settings}}, FILES)
    assert look["seen"] == seen


@pytest.mark.parametrize(("seen", "known", "expected"), COLUMNS)
def test_two_spellings_are_one_column(seen: str, known: str | None, expected: str) -> None:
    found = load()._seen_columns(a_run(case_sensitive=False), seen, known)
    assert found == expected
    assert load()._seen_columns(a_run(case_sensitive=True), seen, known) != expected


def test_a_new_column_in_another_spelling_is_noted_within_known_ones() -> None:
    found: dict[str, str] = {}
    load()._note_new_columns(
        a_run(case_sensitive=False),
        "struct<s:struct<A:int>>",
        "struct<S:struct<a:bigint,b:bigint>>",
        "a.json",
        found,
    )
    assert found == {"s.b": "a.json"}


@pytest.mark.parametrize(("is_sensitive", "found"), [(True, {}), (False, {"AMOUNT": "bigint"})])
def test_a_header_in_another_spelling_is_of_a_known_column(
    is_sensitive: bool, found: dict[str, str]
) -> None:
    settings = {"case_sensitive": is_sensitive}
    assert load()._known_types(settings, "struct<Amount:bigint>", ["AMOUNT", "x", ""]) == found


@pytest.mark.parametrize("raw", [None, "raw"])
def test_of_two_spellings_in_a_record_one_is_rescued(raw: str | None) -> None:
    floodmark = load()
    given = ("struct<id:int>", "struct<id:int,ID:int,x:int>", "", raw)
    own = floodmark._json_text_sql("`ID`", "int")
    if raw:
        text = floodmark._raw_text_sql(floodmark._raw_field_sql(raw, "ID"), "ID")
        own = f"coalesce({text}, {own})"
    found = floodmark._rescued_fields_sql(*given, is_sensitive=False)
    assert f"case when `ID` is not null and coalesce(`id`) is not null then {own} end, " in found
    assert "coalesce(`id`)" not in floodmark._rescued_fields_sql(*given)


def test_a_second_spelling_that_is_a_struct_is_rescued_whole() -> None:
    """Its unknown fields alone would leave out what the first one has, too."""
    floodmark = load()
    found = floodmark._rescued_fields_sql(
        "struct<s:struct<a:int>>",
        "struct<s:struct<a:int>,S:struct<a:int,x:int>>",
        "",
        None,
        is_sensitive=False,
    )
    whole = floodmark._json_text_sql("`S`", "struct<a:int,x:int>")
    assert (
        f"coalesce(case when `S` is not null and coalesce(`s`) is not null then {whole} end, "
        in found
    )


@pytest.mark.parametrize(
    ("row", "warns"),
    [
        ({"has_others": True, "reason": None}, 1),
        ({"has_others": True, "reason": "not well-formed XML"}, 0),
        ({"has_others": False, "reason": None}, 0),
    ],
)
def test_a_file_without_an_element_of_the_tag_is_warned_of(row: dict[str, Any], warns: int) -> None:
    floodmark = load(invocation_args_dict={"project_dir": "/p"})
    floodmark._query_json = lambda sql: [row | {"path": FILES[0]["path"]}]
    floodmark._columns_of_files = lambda *_: []
    said: list[str] = []
    floodmark._warn_once = lambda run, sentence: said.append(sentence)
    floodmark._look_at_xml(a_run(format="xml", options={"rowTag": "row"}), FILES)
    assert len(said) == warns
    for sentence in said:
        assert sentence.startswith(
            "1 file has elements, but no <row>, such as file:/in/a.json: no "
        )
