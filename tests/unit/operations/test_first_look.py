"""What `floodmark init --files` makes of the first lines of files. Without Spark."""

from __future__ import annotations

import pytest

from tests.support.macros import load

floodmark = load()


def seen(lines, is_utf8=True):
    return [{"line": line, "is_utf8": is_utf8} for line in lines]


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
        (['"id"\t"a name"\t"x"'], {"sep": "\t"}),
        (['"a, b"\t"c"', '"a, b"\t"c"'], {"sep": "\t"}),
    ],
)
def test_the_separator_is_the_one_that_gives_the_most_fields(lines, options):
    assert floodmark._csv_options_of(seen(lines)) == options


def test_what_is_not_utf8_is_read_as_latin1():
    lines = seen(["a;b"]) + seen(["c;d"], is_utf8=False)
    assert floodmark._csv_options_of(lines) == {"sep": ";", "encoding": "ISO-8859-1"}


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
    assert floodmark._json_options_of(seen(lines)) == options
