"""The header of a CSV file, taken apart. Without Spark."""

from __future__ import annotations

import csv
import io

import pytest

from tests.support.macros import load

floodmark = load()


@pytest.mark.parametrize(
    "line",
    [
        "a,b,c",
        "a",
        "a,,c",
        ",",
        '"a","b ""x"" ",c',
        '"a,b",c',
        "a b,ü,`x`",
        '"two\nlines",b',
        "a,b,",
    ],
)
def test_fields_are_those_of_pythons_reader(line):
    (expected,) = csv.reader(io.StringIO(line))
    assert floodmark._csv_fields(line, ",", '"', '"') == expected


def test_other_separators():
    assert floodmark._csv_fields("a;b|c;'d;e'", ";", "'", "\\") == ["a", "b|c", "d;e"]
    assert floodmark._csv_fields("a||b||c", "||", '"', '"') == ["a", "b", "c"]
    assert floodmark._csv_fields("a\tb", "\t", '"', '"') == ["a", "b"]
    assert floodmark._csv_fields('a|"b|c"', "|", "", "\\") == ["a", '"b', 'c"']


@pytest.mark.parametrize(
    ("seen", "options", "expected"),
    [
        ("struct<`a;b`:string>", {}, ";"),
        ("struct<`a;b`:string,`a;b;c`:string>", {}, ";"),
        ("struct<`a\tb`:string>", {}, "\t"),
        ("struct<`a;b`:string,c:string>", {}, None),
        ("struct<a:string,b:string>", {}, None),
        ("struct<`a;b`:string>", {"header": False}, None),
        (None, {}, None),
    ],
)
def test_a_separator_that_was_missed(seen, options, expected):
    settings = {"format": "csv", "options": options, "single_variant_column": None}
    assert floodmark._missed_separator(settings, seen) == expected
