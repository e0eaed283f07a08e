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
    ("texts", "tag"),
    [
        (["<rows><row><id>1</id></row><row><id>2</id></row></rows>"], "row"),
        (["<rows><meta><a>1</a><b>2</b></meta><row id='1'/><row id='2'/></rows>"], "row"),
        # As often as another one: the one that holds more.
        (["<x><head at='now'/><order><id>1</id><no>2</no></order></x>"], "order"),
        (
            [
                "<?xml version='1.0'?><!-- <a><b/></a> --><!DOCTYPE x>\n<r:all a='>'><r:one><b/></r:one></r:all>"
            ],
            "r:one",
        ),
        # A record a file.
        (["<order no='1'><id>1</id><name><![CDATA[<a><b/></a>]]></name></order>"] * 2, "order"),
        # One that is cut.
        (["<rows><row><id>1</id></row><row><i"], "row"),
        (["", "no XML", "<" * 100_000, "<" + "a" * 100_000], None),
        ([], None),
    ],
)
def test_the_record_of_xml_is_the_element_that_is_there_most_often(texts, tag):
    assert floodmark._xml_options_of(texts) == ({"rowTag": tag} if tag else {})


@pytest.mark.parametrize(("texts", "looks"), [(["<a><b c='1'/></a>"], True), (["no XML"], False)])
def test_xml_is_looked_at_by_the_element_that_was_found(texts, looks):
    macros = load()
    macros._packed_files = lambda _: {}
    macros._first_texts = lambda *_: texts
    looked = []
    macros._look_at_files = lambda run, _: looked.append(run["settings"]["files"]["options"]) or {}
    run = {"settings": {"files": {"format": "xml", "options": {}}}}
    macros._first_look(run, [{"path": "a.xml"}])
    assert looked == ([{"rowTag": "b"}] if looks else [])


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
