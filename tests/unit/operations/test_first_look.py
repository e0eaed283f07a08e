"""What `floodmark init --files` makes of the first lines of files. Without Spark."""

from __future__ import annotations

import pytest

from tests.support.macros import load

floodmark = load()


@pytest.mark.parametrize(
    ("lines", "options"),
    [
        (["a,b,c"], {}),
        (["a"], {}),
        ([], {}),
        (["a;b;c"], {"sep": ";"}),
        (["a\tb, c\td"], {"sep": "\t"}),
        (["a|b|c", "a|b"], {"sep": "|"}),
        (['"x; y",b,c'], {}),
        (["Name;City, State;No", "Name;City, State"], {"sep": ";"}),
    ],
)
def test_the_separator_is_the_one_that_gives_the_most_fields(lines, options):
    assert floodmark._csv_options_of(lines) == options


@pytest.mark.parametrize(
    ("lines", "options"),
    [
        (['{"a": 1}'], {}),
        (["[", '{"a": 1}'], {}),
        (["["], {"multiLine": True}),
        (['[{"a": 1}]', "{"], {"multiLine": True}),
        (["{" + "x" * 99_999], {}),
        ([], {}),
    ],
)
def test_json_that_is_no_lines(lines, options):
    assert floodmark._json_options_of(lines) == options
