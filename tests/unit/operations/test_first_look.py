"""What `floodmark init --files` makes of the first lines of files. Without Spark."""

from __future__ import annotations

from types import SimpleNamespace

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


@pytest.mark.parametrize(
    ("names", "first"),
    [
        (["a.csv", "b.csv"], ["a.csv", "b.csv"]),
        # Bytes that Spark does not unpack are no text in Latin-1.
        (["a.csv", "b.csv.xz", "B.CSV.GZ"], ["a.csv"]),
        (["a.csv", "z.csv.gz"], ["a.csv"]),
        (["z.csv.gz"], []),
        (["b.csv.xz"], []),
    ],
)
def test_files_that_cannot_be_unpacked_tell_nothing(names, first):
    def attempt(macro, *args):
        try:
            return {"value": macro(*args), "error": None}
        except OSError as error:
            return {"value": None, "error": str(error)}

    plugin = SimpleNamespace(floodmark_plugin=True, floodmark_try=attempt)
    macros = load(adapter=plugin)
    asked = []

    def lines(_, files):
        asked.append([file["path"] for file in files])
        if "z.csv.gz" in asked[-1]:
            raise OSError("FAILED_READ_FILE")
        return seen(["a;b"] * len(files))

    macros._first_lines = lines
    macros._unreadable_files = lambda _, files: {
        file["path"]: "cut off" for file in files if file["path"] == "z.csv.gz"
    }
    macros._look_at_files = lambda run, files: [file["path"] for file in files]
    files = {"format": "csv", "options": {}}
    run = {"settings": {"files": files}}
    assert macros._first_look(run, [{"path": name} for name in names]) == names
    assert files["options"] == ({"sep": ";"} if first else {})
    assert not first or asked[-1] == first
