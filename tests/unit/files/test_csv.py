"""The header of a CSV file, taken apart. Without Spark."""

from __future__ import annotations

import csv
import io
import re

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
        '5" pipe,b',
    ],
)
def test_fields_are_those_of_pythons_reader(line):
    (expected,) = csv.reader(io.StringIO(line))
    assert floodmark._csv_fields(line, ",", '"', '"') == expected


def test_a_field_goes_on_behind_its_closing_quote():
    assert floodmark._csv_fields('"a,b"c,d', ",", '"', '"') == ['"a,b"c', "d"]
    assert floodmark._csv_fields('"a,b', ",", '"', '"') == ['"a', "b"]


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


CSV = {"format": "csv", "single_variant_column": None}


@pytest.mark.parametrize(
    ("line", "fields"),
    [('"a","b c",d', ["a", "b c", "d"]), ('a,"b"', ["a", "b"]), ('"",b', ["", "b"])],
)
def test_quotes_that_nothing_escapes(line, fields):
    assert floodmark._csv_fields(line, ",", '"', "") == fields


@pytest.mark.parametrize(
    ("given", "meant"),
    [
        (",", ","),
        ("\\t", "\t"),
        ("||", "||"),
        ("\\u0000", "\0"),
        ("\\\\", "\\"),
        ("\\", "\\"),
        ("\\t|", "\t|"),
    ],
)
def test_a_separator_as_spark_reads_it(given, meant):
    dialect = floodmark._csv_dialect(CSV | {"options": {"Delimiter": given}})
    assert dialect["sep"] == meant


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, (True, '"', "a")),
        ({"Header": False}, (False, '"', "a")),
        ({"HEADER": "false", "ESCAPE": "\\"}, (False, "\\", "a")),
    ],
)
def test_names_of_options_in_any_case(options, expected):
    settings = CSV | {"options": options}
    dialect = floodmark._csv_dialect(settings)
    assert (dialect["has_header"], dialect["escape"]) == expected[:2]
    given = [name.lower() for name in floodmark._text_options(settings)]
    assert len(given) == len(set(given))
    line = floodmark._from_csv_sql(settings, [{"name": "a", "type": "string"}])
    assert line.lower().count("'escape'") == 1


@pytest.mark.parametrize(
    ("encoding", "is_whole"),
    [
        ("UTF-8", False),
        ("ISO-8859-1", False),
        ("UTF-16LE", True),
        ("utf-32", True),
        ("utf16", True),
    ],
)
def test_letters_of_several_bytes_are_read_as_a_whole(encoding, is_whole):
    dialect = floodmark._csv_dialect(CSV | {"options": {"encoding": encoding}})
    assert (bool(dialect["is_whole"]), dialect["hides"]) == (is_whole, False)


@pytest.mark.parametrize(
    ("options", "heads", "passes"),
    [
        ({}, ["id", " id", "\t#id"], ["", "  ", "\t\t", "\x01 "]),
        # To Spark a comment that is indented is none.
        ({"comment": "#"}, ["id", "id #x", "\t\tid", " #id"], ["\t", "#", "#id"]),
        ({"sep": "\t"}, ["id", "\t\t", " \t"], ["", "  "]),
    ],
)
def test_a_header_is_the_first_line_that_spark_takes_for_one(options, heads, passes):
    sql = floodmark._may_be_header_sql(floodmark._csv_dialect(CSV | {"options": options}))
    shown = re.sub(r"\\\\", r"\\", sql)
    [pattern] = re.findall("rlike '(.*?)'", shown)
    comments = tuple(re.findall("not startswith\\(value, '(.*?)'\\)", sql))
    separators = re.findall("contains\\(value, '(.*?)'\\)", sql)

    def is_head(line):
        is_line = re.search(pattern, line) or any(one in line for one in separators)
        return bool(is_line) and not line.startswith(comments)

    assert [is_head(line) for line in heads + passes] == [True] * len(heads) + [False] * len(passes)


def test_a_window_has_options_of_its_own():
    options = {"sep": "\x01", "nullValue": "NA", "ignoreLeadingWhiteSpace": True, "Comment": "#"}
    settings = CSV | {"options": options, "glob": "*", "path": "in"}
    given = floodmark._csv_window_options(settings, floodmark._csv_dialect(settings))
    whole = floodmark._merged_options(floodmark._window_options(settings, True), given)
    assert not {"sep", "nullValue"} & {
        name for name, value in whole.items() if value in options.values()
    }
    assert whole["comment"] == "#" and "ignoreLeadingWhiteSpace" not in whole


def test_a_column_with_the_name_of_sparks_own_is_in_no_record():
    look = {"files": {"a": {"header": ["id", "_metadata", "texts"], "reason": None}}}
    run = {"settings": {"files": CSV | {"options": {}, "case_sensitive": True}}}
    batch = {"file_schema": {"record": "struct<id:int>"}, "files": [{"path": "a"}]}
    [group] = floodmark._csv_groups(run, batch, look)
    assert group["record"] == "struct<id:int,texts:variant>"
    assert group["header"] == "struct<id:int,_metadata:variant,texts:variant>"
    [sql] = [floodmark._csv_rows_sql(run["settings"]["files"], "w", group)]
    assert "`_metadata` string" in sql and sql.count("as `_metadata`") == 0
    assert "_floodmark_line.`texts`" in sql and " texts" not in sql


def test_a_header_has_no_column_in_common_with_floodmark():
    names = ["id", "_floodmark_bad", "_floodmark_bad_", "_Floodmark_Reason"]
    look = {"files": {"a": {"header": names, "reason": None}}}
    settings = CSV | {"options": {}, "case_sensitive": True, "single_variant_column": None}
    batch = {"file_schema": {"record": "struct<id:int>"}, "files": [{"path": "a"}]}
    [group] = floodmark._csv_groups({"settings": {"files": settings}}, batch, look)
    assert group["record"] == "struct<id:int>"
    sql = floodmark._csv_rows_sql(settings, "w", group)
    [bad] = set(re.findall(r"'columnNameOfCorruptRecord', '(\w+)'", sql))
    assert bad not in names
    assert sql.count(f"`{bad}` string") == 2 and f"_floodmark_texts.{bad} is not null" in sql


@pytest.mark.parametrize("separator", ["\t", " ", " |", "\x0b"])
def test_blanks_that_separate_fields_end_a_quoted_one(separator):
    line = separator.join(['"id"', '"a name"', "x", '"y ""z"""'])
    assert floodmark._csv_fields(line, separator, '"', '"') == ["id", "a name", "x", 'y "z"']
    assert floodmark._csv_fields(f'"a"{separator}{separator}"c"', separator, '"', "") == [
        "a",
        "",
        "c",
    ]


def test_blanks_beside_quotes_that_separate_nothing():
    assert floodmark._csv_fields(' "a" ,\t"b"\t,c', ",", '"', '"') == ["a", "b", "c"]
    assert floodmark._csv_fields('"a" \t "b"', "\t", '"', '"') == ["a", "b"]


def literals(sql):
    """The texts in SQL."""
    return [
        re.sub(r"\\(.)", r"\1", text, flags=re.S)
        for text in re.findall(r"'((?:[^'\\]|\\.)*)'", sql, re.S)
    ]


def is_open(line, sep=",", quote='"', escape='"', skips_blanks=False):
    """What Spark finds of a line: Java's pattern as Python reads it, which is the same here."""
    dialect = {"sep": sep, "quote": quote, "escape": escape, "skips_blanks": skips_blanks}
    _, closed, _, begins = literals(floodmark._csv_is_open_sql(dialect))
    return quote in line and re.search(begins, re.sub(closed, r"\1", line)) is not None


@pytest.mark.parametrize(
    ("line", "options", "expected"),
    [
        ('1,"abc" ', {}, False),
        ('"a" ,1', {}, False),
        ('"a" \t,"b"  ', {}, False),
        ('"a""b" ,1', {}, False),
        ('"a" \t1', {"sep": "\t"}, False),
        ('"a"\t"b"', {"sep": "\t"}, False),
        ('"a" "b"', {"sep": " "}, False),
        ('"a\\"b" ,1', {"escape": "\\"}, False),
        ('"a "x" b" ,1', {"escape": ""}, False),
        ("'a' ;1", {"sep": ";", "quote": "'"}, False),
        ('1,"abc', {}, True),
        ('1,"abc ', {}, True),
        ('"a" ,"b ', {}, True),
        ('"a\t1', {"sep": "\t"}, True),
        ('"a"\t"b', {"sep": "\t"}, True),
        ('"a\\" ,1', {"escape": "\\"}, True),
        ('"a ,1', {"escape": ""}, True),
        ("a b", {}, False),
        ('1, "abc', {}, False),
        ('1, "abc', {"skips_blanks": True}, True),
        ('1, "abc" , "x"', {"skips_blanks": True}, False),
        ('1,"a "b" c"', {}, True),
    ],
)
def test_a_quote_is_closed_whatever_blanks_stand_behind_it(line, options, expected):
    assert is_open(line, **options) is expected


def parted(text, **options):
    """The records of a text: Java's pattern as Python reads it."""
    options = {"multiLine": True} | options
    dialect = floodmark._csv_dialect(CSV | {"options": options})
    _, pattern, _, *comment = literals(floodmark._csv_records_sql("value", dialect))
    found = [record for record in re.findall(pattern, text) if record.strip(" ")]
    return [record for record in found if not (comment and record.startswith(comment[0]))]


@pytest.mark.parametrize(
    "text",
    [
        '1,5" pipe\n2,x\n3,y\n',
        '1,5" pipe\n2,x\n3,6" pipe\n4,z',
        '1,"two\nlines"\r\n\r\n2,"a ""b""\n"\n3,\n',
        '"1\n","\n""\n",,"a,\nb"\n2\n',
        '1,"a"\r2,"b"',
        '1,"no end\n2,x\n3,y\n',
    ],
)
def test_records_are_those_of_pythons_reader(text):
    whole = list(filter(None, csv.reader(io.StringIO(text, newline=""))))
    each = [next(csv.reader(io.StringIO(one, newline=""))) for one in parted(text)]
    assert [[field.rstrip() for field in row] for row in each] == [
        [field.rstrip() for field in row] for row in whole
    ]


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        # What stands behind the quote that ends a field hides nothing.
        ('1,"5" pipe"\n2,"x"', {}, ['1,"5" pipe"', '2,"x"']),
        ('1,"5" pipe"\n2,"x"', {"escape": ""}, ['1,"5" pipe"', '2,"x"']),
        ('1,"a""b\nc",d', {"escape": ""}, ['1,"a""b', 'c",d']),
        ('1, "two\nlines"\n2,x', {}, ['1, "two', 'lines"', "2,x"]),
        (
            '1, "two\nlines"\n2,x',
            {"ignoreLeadingWhiteSpace": True},
            ['1, "two\nlines"', "2,x"],
        ),
        ('1,"a\\"\n\\\\"\n2,x', {"escape": "\\"}, ['1,"a\\"\n\\\\"', "2,x"]),
        ("1||'a|\n||b'||'|\n2|'", {"sep": "||", "quote": "'"}, ["1||'a|\n||b'||'|\n2|'"]),
        ("1||x|'\n2||y", {"sep": "||", "quote": "'"}, ["1||x|'", "2||y"]),
        ('# "x\n1,"\n#"\n#2\n3,a # b', {"comment": "#"}, ['1,"\n#"', "3,a # b"]),
        ('1,"a\r\n2,b"', {"multiLine": False}, ['1,"a', '2,b"']),
    ],
)
def test_quotes_hide_line_ends_where_they_begin_a_field(text, options, expected):
    assert parted(text, **options) == expected


def test_a_header_whose_quote_is_not_closed_is_refused_with_what_is_behind_it():
    reason = "its header has a quote that is not closed"
    assert floodmark._csv_header_reason(["id", "name\n1"], True) == reason
    assert floodmark._csv_header_reason(["id", '5" pipe'], False) is None


def test_a_header_in_utf_16_gives_no_columns():
    names = "id,name".encode("utf-16").decode(errors="replace").split(",")
    assert "set files.options={'encoding': 'UTF-16'}" in floodmark._csv_header_reason(names)


def placed(record, line=None, path="/in/a.csv", **files):
    """The columns of a file without a header; without a line, those that are known."""
    settings = {"path": "/in", "schema": None, "partition_columns": None} | files
    run = {"settings": {"files": settings}, "known_record": record}
    if line is None:
        return floodmark._csv_placed(run, path)
    dialect = {"sep": ",", "quote": '"', "escape": '"', "has_header": False}
    return floodmark._csv_names(run, {"path": path, "line": line}, dialect)


@pytest.mark.parametrize(
    ("record", "names"),
    [
        (None, ["_c0", "_c1", "_c2", "_c3"]),
        # A hint for a column not seen yet stands last, and so does one for a folder that comes later.
        ("struct<_c0:int,_c1:string,_c2:string,_c5:date>", ["_c0", "_c1", "_c2", "_c3"]),
        ("struct<_c0:int,day:date>", ["_c0", "_c1", "_c2", "_c3"]),
        ("struct<_c0:int,_c2:string,_C1:string>", ["_c0", "_C1", "_c2", "_c3"]),
        # There was a schema, which became hints.
        ("struct<id:int,name:string>", ["id", "name", "_c2", "_c3"]),
        ("struct<id:int,name:string,_c2:string>", ["id", "name", "_c2", "_c3"]),
    ],
)
def test_columns_that_were_inferred_have_the_names_of_their_places(record, names):
    assert placed(record, "2,a,b,X") == names


def test_columns_of_a_schema_are_named_by_their_places():
    schema = "day date, id int, name string"
    record = "struct<day:date,id:int,name:string>"
    assert placed(record, "2,a,b,X", schema=schema) == ["day", "id", "name", "_c3"]
    assert placed(record, "2", path="/in/day=1/a.csv", schema=schema) == ["id"]


def test_lines_that_are_read_again_have_the_columns_that_are_known():
    assert placed("struct<_c0:int,_c1:string,_c5:date>") == ["_c0", "_c1"]
    assert placed("struct<day:date,id:int>", path="/in/day=1/a.csv", schema="day date, id int") == [
        "id"
    ]
