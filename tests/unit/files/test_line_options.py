"""Options under which lines could not be looked at before Spark's reader takes them. Without Spark."""

from __future__ import annotations

import pytest

from tests.support.macros import load


@pytest.mark.parametrize(
    ("format", "options", "said"),
    [
        ("json", {"lineSep": "|"}, "a record a line with format 'json'"),
        ("csv", {"linesep": ";"}, "a record a line with format 'csv'"),
        ("json", {"encoding": "UTF-16"}, "UTF-8, as JSON is (RFC 8259)"),
        ("json", {"charset": "latin1"}, "UTF-8, as JSON is (RFC 8259)"),
        ("json", {"encoding": "utf-8", "lineSep": "\r\n"}, None),
        ("csv", {"encoding": "ISO-8859-1", "lineSep": "\n"}, None),
        ("text", {"lineSep": "|"}, None),
        (
            "xml",
            {"rowTag": "row", "Charset": "latin1"},
            "the encoding that each file declares, with format 'xml'",
        ),
        ("xml", {"rowTag": "row", "encoding": "utf-8"}, None),
        # Spark validates by it, whatever a file declares.
        (
            "xml",
            {"rowTag": "row", "encoding": "ISO-8859-1", "rowValidationXSDPath": "/a.xsd"},
            None,
        ),
        # Of a part of the records Spark infers a part of the columns.
        (
            "xml",
            {"rowTag": "row", "samplingRatio": 0.1},
            "one of encoding, charset, lineSep, compression, rowTag, excludeAttribute, attributePrefix, valueTag, "
            "nullValue, ignoreSurroundingSpaces, rowValidationXSDPath, ignoreNamespace, wildcardColName with format "
            "'xml'",
        ),
        (
            "text",
            {"encoding": "latin1"},
            "the bytes of each line as they stand, with format 'text'",
        ),
        ("text", {"charset": "UTF8"}, None),
    ],
)
def test_what_a_look_could_not_read_is_refused(format, options, said):
    problems = load()._reader_option_problems({"format": format, "options": options})
    assert [one["expected"] for one in problems] == ([said] if said else [])


@pytest.mark.parametrize(
    ("settings", "is_any"),
    [
        # A batch may fail before the names of its files have told the format.
        ({"format": None}, False),
        ({"format": "csv"}, False),
        ({"format": "csv", "options": {"encoding": "windows-1252"}}, True),
        ({"format": "xml"}, True),
    ],
)
def test_texts_may_have_any_encoding(settings, is_any):
    settings = {"options": {}, "single_variant_column": None} | settings
    conf = load()._files_conf(settings)
    assert ("spark.sql.legacy.javaCharsets" in conf) is is_any


def test_corrupt_records_have_a_place():
    floodmark = load()
    given = {"path": "in", "schema": "id int", "on_corrupt": "null"}
    [problem] = floodmark._corrupt_problems(given)
    assert problem["setting"] == "files.on_corrupt"
    assert problem["expected"] == "a rescued_data_column, where the text of such a record is kept"
    assert floodmark._corrupt_problems(given | {"rescued_data_column": "rest"}) == []
    [problem] = floodmark._corrupt_problems({"path": "in", "format": "text", "on_corrupt": "null"})
    assert problem["expected"] == (
        "'quarantine' or 'fail' with format 'text', beside which nothing is rescued"
    )
    [problem] = floodmark._corrupt_problems(
        {"path": "in", "on_corrupt": "fail", "max_corrupt_fraction": 0.1}
    )
    assert problem["setting"] == "files.max_corrupt_fraction"
    assert problem["expected"] == "on_corrupt 'quarantine'"


@pytest.mark.parametrize(
    ("given", "settings"),
    [
        ({}, []),
        ({"schema_hints": "day date, `Some Region` string"}, []),
        ({"schema_hints": "day date", "partition_columns": ["Day"]}, []),
        ({"rescued_data_column": False, "on_corrupt": "quarantine"}, []),
        ({"schema_hints": "day date", "partition_columns": ["month"]}, ["files.schema_hints"]),
        ({"schema_hints": "day date, a.b int"}, ["files.schema_hints"]),
        ({"schema_hints": "day date, tags array<int>"}, ["files.schema_hints"]),
        ({"schema_hints": "Record variant"}, ["files.schema_hints"]),
        (
            {"schema_hints": "a.b int", "rescued_data_column": "rest"},
            ["files.rescued_data_column", "files.schema_hints"],
        ),
        (
            {"format": "xml", "options": {"rowTag": "row", "RowValidationXSDPath": "/a.xsd"}},
            ["files.options.RowValidationXSDPath"],
        ),
        ({"format": "parquet"}, ["files.single_variant_column"]),
        (
            {"format": "text", "schema_hints": "a.b int"},
            ["files.schema_hints", "files.single_variant_column"],
        ),
    ],
)
def test_what_one_variant_leaves_no_place_for(given, settings):
    floodmark = load(model={"config": {}})
    floodmark._is_stream = lambda: False
    files = {"path": "in", "format": "json", "single_variant_column": "record"} | given
    problems = floodmark._format_problems(files)
    assert [one["setting"] for one in problems] == settings


def test_a_corrupt_record_has_no_place_beside_a_variant():
    floodmark = load()
    given = {"path": "in", "single_variant_column": "record", "on_corrupt": "null"}
    [problem] = floodmark._corrupt_problems(given)
    assert problem["todo"] == "Use one of them"
    assert floodmark._corrupt_problems(given | {"on_corrupt": "fail"}) == []
