"""What a stream of files takes for a corrupt record. Without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.macros import Refused, load

SETTINGS: dict[str, Any] = {
    "path": "in",
    "format": "xml",
    "glob": "*",
    "recursive": True,
    "schema": "id int, who struct<age: int>",
    "case_sensitive": True,
    "single_variant_column": None,
    "rescued_data_column": None,
}


def xml_rows(**options: str) -> str:
    floodmark = load()
    floodmark._files_stream = lambda *_: "stream(s)"
    settings = SETTINGS | {"options": {"rowTag": "row"} | options}
    group = floodmark._xml_stream(settings, "struct<id:int,who:struct<age:int>>")
    assert group["reason_sql"] == "_floodmark_reason"
    return str(group["sql"])


@pytest.mark.parametrize("options", [{}, {"rowValidationXSDPath": "/row.xsd"}])
def test_a_stream_of_xml_keeps_the_text_that_spark_cannot_read(options: dict[str, str]) -> None:
    sql = xml_rows(**options)
    assert sql.startswith("select `id`, `who`, `_floodmark_bad`, _metadata, case\n")
    assert "'not well-formed XML'" in sql
    assert ("not valid against the XSD" in sql) is bool(options)
    # A stream takes no window functions.
    assert " over " not in sql and "qualify" not in sql


@pytest.mark.parametrize(
    ("format", "options", "refused"),
    [
        ("csv", {"MultiLine": True}, ["files.options.MultiLine"]),
        ("csv", {"multiLine": "true"}, ["files.options.multiLine"]),
        ("csv", {"multiLine": False}, []),
        ("csv", {"sep": ";"}, []),
        ("json", {"multiLine": True}, []),
        ("csv", "multiLine", []),
    ],
)
def test_csv_over_several_lines_is_no_stream(format: str, options: Any, refused: list[str]) -> None:
    files = {"path": "in", "schema": "id int", "format": format, "options": options}
    found = load()._stream_files_problems(files)
    assert [problem["setting"] for problem in found] == refused


def by_names(name: str, **given: Any) -> str:
    """The stream of a folder that has this file, where the settings tell no format."""
    config = {"materialized": "streaming_table", "files": {"path": "/in"} | given}
    floodmark = load(config=config, model={"config": config})
    floodmark._listed = lambda *_: [{"path": f"file:/in/{name}"}]
    floodmark._files_stream = lambda _, provider, *__: f"the_stream_of_{provider}"
    assert floodmark._stream_files_problems(config["files"]) == []
    assert floodmark._format_problems(config["files"]) == []
    return str(floodmark._stream_files_sql(floodmark._files_settings()))


def test_the_names_of_files_tell_whether_a_stream_needs_a_schema() -> None:
    sql = by_names("a.log")
    assert "the_stream_of_text" in sql and "_rescued_data" not in sql
    with pytest.raises(Refused, match=r"files.schema: got null; expected the columns as DDL"):
        by_names("a.json")
    with pytest.raises(Refused, match=r"files.schema: .* expected nothing with format 'text'"):
        by_names("a.log", schema="id int")
