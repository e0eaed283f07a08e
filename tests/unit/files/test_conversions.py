"""Values of files that have another type than the column: which come into it, and what joins two types."""

from __future__ import annotations

import json
import re

import pytest

from tests.support.macros import load

floodmark = load()


@pytest.mark.parametrize(
    ("known", "read", "how"),
    [
        ("bigint", "int", "cast"),
        ("int", "decimal(10,2)", "cast"),
        ("string", "timestamp", "cast"),
        ("date", "string", "cast"),
        ("timestamp_ntz", "date", "cast"),
        ("map<string,bigint>", "map<string,int>", "cast"),
        ("string", "struct<a:int>", "json"),
        ("string", "variant", "json"),
        ("variant", "array<int>", "json"),
        ("timestamp", "timestamp_ntz", None),
        ("timestamp_ntz", "timestamp", None),
        ("timestamp", "date", None),
        ("bigint", "timestamp", None),
        ("bigint", "boolean", None),
        ("boolean", "int", None),
        ("binary", "int", None),
        ("bigint", "variant", None),
        ("struct<a:int>", "map<string,int>", None),
        ("array<int>", "string", None),
        ("map<string,int>", "map<int,int>", None),
        ("timestamp", "text", "cast"),
        ("map<string,int>", "text", None),
    ],
)
def test_what_comes_into_a_column(known, read, how):
    assert floodmark._conversion(known, read) == how


@pytest.mark.parametrize(
    ("one", "other", "joined"),
    [
        ("tinyint", "smallint", "smallint"),
        ("int", "bigint", "bigint"),
        ("bigint", "decimal(10,2)", "decimal(22,2)"),
        ("float", "double", "double"),
        ("smallint", "float", "double"),
        ("decimal(38,2)", "decimal(20,10)", "double"),
        ("date", "timestamp_ntz", "timestamp_ntz"),
        ("timestamp", "timestamp_ntz", "string"),
        ("string", "bigint", "string"),
        ("boolean", "bigint", "string"),
        ("struct<a:int>", "array<int>", "string"),
        ("array<int>", "array<bigint>", "array<bigint>"),
        ("map<string,int>", "map<string,bigint>", "map<string,bigint>"),
        ("map<string,int>", "map<int,int>", "string"),
        ("struct<a:int,b:date>", "struct<a:string>", "struct<a:string,b:date>"),
    ],
)
def test_what_joins_two_types(one, other, joined):
    assert floodmark._merged_types(one, other, "string") == joined
    assert floodmark._merged_types(other, one, "string") == joined


@pytest.mark.parametrize(
    "type", ["int", "bigint", "float", "double", "decimal(9,2)", "boolean", "date", "timestamp"]
)
def test_a_text_of_any_format_fits_where_it_is_a_value(type):
    """Whatever the value prints as: `100` is a double, `2024-5-2` a date."""
    assert floodmark._fits_sql(type, "string", "v") == floodmark._fits_sql(type, "text", "v")
    assert "as string)" not in floodmark._fits_sql(type, "string", "v")


def test_the_greatest_bigint_is_no_double():
    """2^63 is, and comes back as that bigint."""
    for types in (("double", "bigint"), ("float", "bigint"), ("bigint", "double")):
        assert "9223372036854775808D" in floodmark._fits_sql(*types, "v")


XML = {"format": "xml", "options": {"rowTag": "row"}, "single_variant_column": None}


@pytest.mark.parametrize(
    ("known", "seen", "read"),
    [
        ("decimal(9,2)", "string", "text"),
        ("string", "struct<_VALUE:string,_a:bigint>", "valued<struct<_VALUE:string,_a:string>>"),
        ("variant", "struct<_a:string>", "valued<struct<_VALUE:text,_a:string>>"),
        (
            "array<string>",
            "struct<_VALUE:string,_a:string>",
            "array<valued<struct<_VALUE:string,_a:string>>>",
        ),
        (
            "int",
            "array<struct<_VALUE:string,_a:string>>",
            "repeated<valued<struct<_VALUE:text,_a:string>>>",
        ),
        # Spark reads elements within a text as a part of it.
        ("string", "struct<_a:string,b:string>", "string"),
        ("map<string,string>", "struct<_VALUE:string,_a:string>", "text"),
        ("int", None, "repeated<text>"),
    ],
)
def test_an_element_whose_text_alone_is_known_is_read_with_its_attributes(known, seen, read):
    assert floodmark._xml_type(XML, known, seen) == read
    if read.startswith("valued<"):
        assert floodmark._kept_type(read, False) == read[7:-1].replace("text", "string")


def test_the_tags_of_attributes_and_texts_are_those_of_the_options():
    own = dict(XML, options={"rowTag": "row", "attributePrefix": "@", "ValueTag": "v"})
    read = "valued<struct<v:text,`@a`:string>>"
    assert floodmark._xml_type(own, "int", "struct<v:string,`@a`:string>") == read
    kept = floodmark._kept_sql_of("int", read, "x")
    assert "x.`v`" in kept and "@a" not in kept
    rest = floodmark._rescued_sql("int", read, "x", None)
    assert rest.count("""'"@a":' || """) == 2 and rest.count("""'"v":' || """) == 1
    for options in ({"attributePrefix": ""}, {"nullValue": "NA"}):
        own = dict(XML, options=options)
        assert floodmark._xml_type(own, "int", "struct<_VALUE:int,_b:int>") == "text"


def test_names_of_files_that_spark_does_not_unpack():
    paths = ["a.json", "b.json.gz", "c.json.xz", "d.xz.json", "e.csv.Z", "f.tar.gz", "g.zip"]
    found = floodmark._packed_files([{"path": path} for path in paths])
    assert list(found) == ["c.json.xz", "e.csv.Z", "g.zip"]
    assert found["g.zip"] == (
        "packed as .zip, which Spark does not unpack: pack it as .gz, .bz2 or .zst"
    )


@pytest.mark.parametrize(
    ("path", "format"),
    [
        ("file:/in.json/a.csv", "csv"),
        ("file:/in/A.CSV.GZ", "csv"),
        ("file:/in/a.b.jsonl.bz2", "json"),
        ("file:/in/a.log.zip", "text"),
        ("file:/in/a.parquet", "parquet"),
        ("file:/in.csv/a", None),
        ("file:/in/csv", None),
        ("file:/in/csv.gz", None),
        ("file:/in/a.gz.1", None),
    ],
)
def test_the_format_that_a_name_tells(path: str, format: str | None) -> None:
    assert floodmark._format_by_name(path) == format


def test_lines_are_counted_in_files_that_are_not_large_unpacked() -> None:
    own = load()
    own._records_stage = lambda _: "stage"
    counted: list[str] = []
    own._numbered_lines_sql = lambda _, files: counted.extend(file["path"] for file in files)
    sizes = {"a.csv": 60, "b.csv": 64, "c.csv.gz": 3, "d.csv.gz": 4, "gz.csv": 60}
    files = [{"path": path, "size": size << 20, "rows_raw": 1} for path, size in sizes.items()]
    settings = {"files": {"format": "csv", "single_variant_column": None}}
    own._corrupt_rows_sql({"settings": settings}, {"files": files})
    assert counted == ["a.csv", "c.csv.gz", "gz.csv"]


@pytest.mark.parametrize(
    ("written", "spelt"),
    [
        ("decimal(10)", "decimal(10,0)"),
        ("NUMERIC(10, 2)", "decimal(10,2)"),
        ("dec ( 10 , 2 )", "decimal(10,2)"),
        ("dec", "decimal(10,0)"),
        ("timestamp_ltz", "timestamp"),
        ("timestamp_ntz", "timestamp_ntz"),
        ("varchar(10)", "varchar(10)"),
        ("array<numeric(5)>", "array<decimal(5,0)>"),
        ("struct<a: dec(4,1), b integer>", "struct<a:decimal(4,1),b:int>"),
        ("int NOT NULL", "int"),
        ("decimal(10,2)comment 'net'", "decimal(10,2)"),
        ('bigint not null comment "it\'s, <net>"', "bigint"),
        ("string comment 'a''b' not  null ", "string"),
        (
            "struct<a: int not null comment 'a, b', `not null`: date> NOT NULL",
            "struct<a:int,`not null`:date>",
        ),
        ("array<struct<a int comment 'x'>> comment 'y'", "array<struct<a:int>>"),
    ],
)
def test_types_of_hints_are_spelt_as_spark_prints_them(written: str, spelt: str) -> None:
    assert floodmark._spelt_type(written) == spelt


def test_endings_in_capitals_are_no_codecs():
    names = {
        "A.CSV.GZ": "name it .gz",
        "b.Bz2": "name it .bz2",
        "c.ZIP": "pack it as .gz",
        "d.zstd": "pack it as",
    }
    found = floodmark._packed_files([{"path": path} for path in [*names, "E.JSON", "f.zst"]])
    assert list(found) == list(names)
    for path, words in names.items():
        assert words in found[path]


@pytest.mark.parametrize(
    ("known", "as_texts", "wide"),
    [
        ("decimal(4,1)", "string", "decimal(38,35)"),
        ("map<string,decimal(4,1)>", "map<string,string>", "map<string,decimal(38,35)>"),
        ("map<string,array<decimal(4,1)>>", "map<string,array<string>>", None),
        (
            "array<struct<m:map<string,decimal(38,2)>,n:tinyint>>",
            "array<struct<m:map<string,string>,n:smallint>>",
            "array<struct<m:map<string,string>,n:smallint>>",
        ),
        ("map<string,decimal(20,4)>", "map<string,string>", "map<string,decimal(38,22)>"),
        ("map<string,timestamp>", "map<string,string>", "map<string,string>"),
        ("array<timestamp_ntz>", "array<string>", "array<string>"),
        ("map<decimal(4,1),int>", "map<decimal(4,1),int>", "map<decimal(4,1),int>"),
    ],
)
def test_types_in_which_json_keeps_its_values(known, as_texts, wide):
    assert floodmark._exact_type(known) == as_texts
    assert wide is None or floodmark._exact_type(known, False) == wide
    assert floodmark._is_exact(known, as_texts)
    if known.startswith("map<"):
        assert floodmark._conversion(known, as_texts) == "cast"


@pytest.mark.parametrize(
    ("known", "as_texts"), [("double", "string"), ("map<string,float>", "map<string,string>")]
)
def test_numbers_that_no_float_holds_are_read_as_texts(known, as_texts):
    settings = {"format": "json", "single_variant_column": None, "options": {}}
    assert floodmark._json_type(settings, known) == known
    assert floodmark._json_type(settings, known, is_huge=True) == as_texts
    assert floodmark._is_exact(known, as_texts)
    # Rescued as the number that stands in the file, without quotes.
    assert "try_parse_json(" in floodmark._printed_sql(known, as_texts, "v")
    assert "try_parse_json(" not in floodmark._printed_sql(known, known, "v")


@pytest.mark.parametrize(
    ("number", "is_huge"),
    [
        ("1e400", True),
        ("-1.5E+39", True),
        ("123456789012e30", True),
        ("9" * 40, True),
        ("1.5", False),
        ("1.0E10", False),
        ("1e-400", False),
        ("9" * 38, False),
        ('"a1e400"', False),
    ],
)
def test_which_numbers_a_float_may_not_hold(number: str, is_huge: bool) -> None:
    own = load(invocation_args_dict={"project_dir": "/p"})
    asked: list[str] = []
    own._has_no_rows = lambda sql: asked.append(sql) or True
    settings = {"format": "json", "single_variant_column": None, "options": {}}
    settings |= {"path": "file:/in", "glob": "*", "recursive": True, "schema_hints": "x double"}
    settings |= {"infer_column_types": False, "schema_evolution": "add_new_columns"}
    run = {"settings": {"files": settings}}
    assert not own._is_huge_json(run, [{"path": "file:/in/a.json"}])
    pattern = asked[0].rpartition("rlike '")[2].removesuffix("'").replace("\\\\", "\\")
    for line in (f'{{"x":{number}}}', f'{{"x": [1, {number}]}}'):
        assert bool(re.search(pattern, line)) is is_huge
    settings["schema_hints"] = "x int"
    assert not own._is_huge_json(run, [{"path": "file:/in/a.json"}])
    assert len(asked) == 1
    # An integer may become a double.
    settings["schema_evolution"] = "widen"
    assert not own._is_huge_json(run, [{"path": "file:/in/a.json"}])
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("options", "read"),
    [
        ({}, "struct<d:string,at:string>"),
        ({"LOCALE": "de-DE"}, "struct<d:decimal(38,30),at:string>"),
        ({"locale": "en-US"}, "struct<d:string,at:string>"),
        ({"timestampFormat": "HH:mm"}, "struct<d:string,at:timestamp>"),
    ],
)
def test_what_the_options_tell_of_decimals_and_moments(options, read):
    settings = {"format": "json", "single_variant_column": None, "options": options}
    assert floodmark._json_type(settings, "struct<d:decimal(10,2),at:timestamp>") == read
    settings["format"] = "csv"
    flat = {
        "d": floodmark._csv_type(settings, {"d": "decimal(10,2)"}, "d", True),
        "at": floodmark._csv_type(settings, {"at": "timestamp"}, "at", True),
    }
    assert "struct<d:{d},at:{at}>".format(**flat) == read.replace("string", "text")


def test_each_value_of_a_map_is_compared():
    sql = floodmark._fits_sql("map<string,int>", "map<string,bigint>", "m")
    fits = "not (_floodmark_f0 is null or try_cast(try_cast(_floodmark_f0"
    assert f"exists(map_values(m), _floodmark_f0 -> {fits}" in sql


@pytest.mark.parametrize(
    ("type", "values", "others"),
    [
        ("double", ["12", "-1.5", ".5", "5.", " 1e5 ", "NaN", "-Inf", "+infinity"],
         ["12D", "3f", "1.5d", "0x1p3", "e5", ""]),
        ("timestamp", ["2024-01-01", "2024-1-1 08:30", "2024-01-01T08:30:00Z", "+12024-01-01"],
         ["2024", "2024-01", "08:30", "T08:30", "1704067200000", "2024-01-011"]),
        ("timestamp_ntz", ["2024-01-01", "2024-01-01T08:30:00.123", "2024-01-01 08:30 "],
         ["2024-01-01T08:30:00Z", "2024-01-01 08:30+02:00", "2024-01-01 08:30 UTC", "08:30"]),
    ],
)  # fmt: skip
def test_texts_that_are_values_of_a_type(type, values, others):
    pattern = re.compile(r"^\s*" + floodmark._text_pattern(type), re.ASCII)
    assert [text for text in [*values, *others] if pattern.search(text)] == values


@pytest.mark.parametrize("type", ["float", "double"])
def test_a_number_beyond_its_range_is_no_infinity(type):
    sql = floodmark._exact_cast_sql("t", type)
    assert rf"if(t rlike '\\d' and abs(try_cast(t as {type})) = double('Infinity'), null, " in sql


@pytest.mark.parametrize(
    ("type", "expected"),
    [
        ("string", True),
        ("array<array<string>>", True),
        ("struct<int:string,`a,b`:array<string>>", True),
        ("map<string,struct<a:map<string,string>>>", True),
        ("map<int,string>", False),
        ("struct<a:string,b:int>", False),
        ("array<decimal(4,1)>", False),
        ("variant", False),
    ],
)
def test_types_that_hold_strings_alone(type, expected):
    assert floodmark._holds_strings(type) is expected


def test_numbers_hide_in_texts_and_come_back():
    """Spark's expressions as Python reads them, on what the reader makes of them in between."""
    sql = floodmark._hidden_numbers_sql("v")
    pattern = re.search(r"regexp_replace\(v, '(.*)', '\$1\"\ufdd5\$2\"'\)", sql).group(1)
    pattern = re.sub(r"\\(.)", r"\1", pattern)
    text = '{"a 1.5":1.50,"b":[-0.10,"2.50 \\"3.5\\"",true,1E+2],"c1":{"d":12345678901234567890.5}}'
    hidden = re.sub(pattern, lambda m: f'{m[1] or ""}"\ufdd5{m[2] or ""}"', text)
    hidden = hidden.replace('"\ufdd5"', "")
    assert json.loads(hidden) == {
        "a 1.5": "\ufdd51.50",
        "b": ["\ufdd5-0.10", '2.50 "3.5"', True, "\ufdd51E+2"],
        "c1": {"d": "\ufdd512345678901234567890.5"},
    }
    shown = re.search(r"regexp_replace\(v, '(.*)', '\$1'\)", floodmark._shown_numbers_sql("v"))
    assert re.sub(shown.group(1), r"\1", hidden) == text
    assert re.sub(shown.group(1), r"\1", "\ufdd51.50") == "1.50"
