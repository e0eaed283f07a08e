"""JSON with `allow…` options, whose fields Spark's own inference sees. Without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.macros import load

SETTINGS: dict[str, Any] = {
    "format": "json",
    "schema": None,
    "infers": True,
    "infer_column_types": True,
    "schema_evolution": "add_new_columns",
    "rescued_data_column": "_rescued_data",
    "case_sensitive": True,
    "single_variant_column": None,
    "options": {"allowSingleQuotes": True},
    "path": "file:/in",
    "glob": "*",
    "recursive": True,
}
FILES = [{"path": f"file:/in/{letter}.json"} for letter in "ab"]


def unmixed(known: str, seen: str, printed: str, **settings: Any) -> tuple[str, int]:
    """What was seen where a look prints this of the values, and how many looks that took."""
    floodmark = load(invocation_args_dict={"project_dir": "/p"})
    asked = []
    floodmark._query_json = lambda sql: [asked.append(sql) or {"seen": printed}]
    return floodmark._unmixed(SETTINGS | settings, FILES, known, seen), len(asked)


@pytest.mark.parametrize(
    ("known", "printed", "expected"),
    [
        ("struct<b:string>", "OBJECT<b: STRING, c: BIGINT>", "struct<b:string,c:bigint>"),
        (
            "array<struct<b:string>>",
            "ARRAY<OBJECT<b: STRING, c: BIGINT>>",
            "array<struct<b:string,c:bigint>>",
        ),
        # Each value is a text.
        ("struct<b:string>", "VOID", "string"),
    ],
)
@pytest.mark.parametrize(
    ("seen", "options"), [("string", {"allowSingleQuotes": True}), ("variant", {})]
)
def test_objects_beside_texts_have_their_fields_looked_for(
    known: str, printed: str, expected: str, seen: str, options: dict[str, Any]
) -> None:
    if printed == "VOID":
        expected = seen
    found = unmixed(f"struct<s:{known}>", f"struct<s:{seen}>", printed, options=options)
    assert found == (f"struct<s:{expected}>", 1)


@pytest.mark.parametrize(
    ("known", "settings"), [("struct<b:string>", {"options": {}}), ("string", {}), ("int", {})]
)
def test_texts_cost_no_look_where_they_are_all_that_there_is(
    known: str, settings: dict[str, Any]
) -> None:
    found = unmixed(f"struct<s:{known}>", "struct<s:string>", "BIGINT", **settings)
    assert found == ("struct<s:string>", 0)


def test_objects_in_another_spelling_are_those_of_the_known_column() -> None:
    found = unmixed(
        "struct<s:struct<b:string>>",
        "struct<S:variant>",
        "OBJECT<b: STRING, c: BIGINT>",
        options={},
        case_sensitive=False,
    )
    assert found == ("struct<S:struct<b:string,c:bigint>>", 1)


def test_a_new_column_fails_the_batch_and_its_file_is_named() -> None:
    floodmark = load(invocation_args_dict={"project_dir": "/p"})
    floodmark._query_json = lambda _: [
        {"path": file["path"], "rows": 1, "odd": 0, "seen": None} for file in FILES
    ]
    fields = {"a": ["id"], "b": ["id", "x"]}

    def columns(_: Any, files: list[dict[str, str]], __: Any = None) -> list[dict[str, str]]:
        names = sorted({name for file in files for name in fields[file["path"][9]]})
        return [{"name": name, "ddl": "bigint"} for name in names]

    floodmark._columns_of_files = columns
    floodmark._has_no_rows = lambda _: True
    stopped: list[str] = []
    floodmark._stop = stopped.append
    settings = SETTINGS | {"schema_evolution": "fail"}
    run = {"settings": {"files": settings}}
    look = floodmark._look_at_json(run, FILES)
    floodmark._check_new_columns(run, "struct<id:bigint>", look)
    assert [text.partition(". ")[0] for text in stopped] == ["1 new column: x in file:/in/b.json"]
    stopped.clear()
    floodmark._check_new_columns(run, "struct<id:bigint,x:bigint>", look)
    assert stopped == []
