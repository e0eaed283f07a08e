"""Types as text: their parts, what has no type, and what a cast does to values; without Spark."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import load


@pytest.fixture(scope="module")
def floodmark() -> SimpleNamespace:
    return load()


def test_fields_of_any_name(floodmark: SimpleNamespace) -> None:
    names = ["first-name", "a:int,b", "e<f", "ti`ck", "x>y)", "(", "plain"]
    given: dict[str, Any] = {
        "name": "struct",
        "fields": [{"name": name, "type": {"name": "int"}} for name in names],
    }
    ddl = floodmark._type_ddl(given)
    assert ddl.endswith("`(`:int,plain:int>") and "`a:int,b`:int" in ddl and "`ti``ck`:int" in ddl
    assert floodmark._struct_fields(ddl) == [{"name": name, "type": "int"} for name in names]


@pytest.mark.parametrize("name", ["2024", "1d", "1e5", "5L", "1_a"])
def test_names_that_may_read_as_numbers_stand_in_backticks(
    floodmark: SimpleNamespace, name: str
) -> None:
    given = {"name": "struct", "fields": [{"name": name, "type": {"name": "int"}}]}
    ddl = floodmark._type_ddl(given)
    assert ddl == f"struct<`{name}`:int>"
    assert floodmark._typed_part(f"struct<`{name}`:int,b:void>") == ddl
    assert floodmark._conformed_type("struct<A:int>", ddl, True) == f"struct<`{name}`:int,A:int>"


def test_types_that_spark_describes_as_json(floodmark: SimpleNamespace) -> None:
    text = {"name": "string", "collation": "UTF8_LCASE"}
    decimal = {"name": "decimal", "precision": 9, "scale": 2}
    given = {
        "name": "map",
        "key_type": text,
        "value_type": {"name": "array", "element_type": decimal},
    }
    assert floodmark._type_ddl(given) == "map<string collate UTF8_LCASE,array<decimal(9,2)>>"
    assert floodmark._map_types("map<string,struct<a:int,`b,c`:decimal(9,2)>>") == [
        "string",
        "struct<a:int,`b,c`:decimal(9,2)>",
    ]
    assert floodmark._type_ddl({"name": "timestamp_ltz"}) == "timestamp"


@pytest.mark.parametrize(
    ("type", "typed"),
    [
        ("void", None),
        ("int", "int"),
        ("array<void>", None),
        ("map<void,void>", None),
        ("struct<a:int,b:void>", "struct<a:int>"),
        ("struct<a:void>", None),
        ("array<struct<a:int,b:array<void>>>", "array<struct<a:int>>"),
        ("struct<void:int>", "struct<void:int>"),
        ("struct<`my void`:int>", "struct<`my void`:int>"),
    ],
)
def test_what_has_no_type_yet(floodmark: SimpleNamespace, type: str, typed: str | None) -> None:
    assert floodmark._typed_part(type) == typed


@pytest.mark.parametrize(
    ("given", "wanted", "effect"),
    [
        ("int", "bigint", "keeps"),
        ("bigint", "int", "checks"),
        ("int", "decimal(10,0)", "keeps"),
        ("bigint", "decimal(10,0)", "checks"),
        ("decimal(17,2)", "decimal(17,0)", "checks"),
        ("decimal(20,2)", "decimal(10,2)", "checks"),
        ("decimal(9,2)", "decimal(11,4)", "keeps"),
        ("decimal(9,2)", "int", "checks"),
        ("decimal(9,0)", "int", "keeps"),
        ("decimal(10,0)", "int", "checks"),
        ("decimal(2,0)", "tinyint", "keeps"),
        ("decimal(3,0)", "tinyint", "checks"),
        ("decimal(5,0)", "smallint", "checks"),
        ("decimal(18,0)", "bigint", "keeps"),
        ("decimal(19,0)", "bigint", "checks"),
        ("decimal(20,0)", "bigint", "checks"),
        ("bigint", "decimal(19,0)", "keeps"),
        ("decimal(15,2)", "double", "keeps"),
        ("bigint", "double", "checks"),
        ("int", "float", "checks"),
        ("double", "float", "checks"),
        ("float", "double", "keeps"),
        ("double", "decimal(9,2)", "checks"),
        ("timestamp", "date", "checks"),
        ("timestamp_ntz", "date", "checks"),
        ("date", "timestamp", "keeps"),
        ("timestamp", "timestamp_ntz", "checks"),
        ("timestamp_ntz", "timestamp", "checks"),
        ("timestamp", "string", "checks"),
        ("timestamp_ntz", "string", "keeps"),
        ("date", "string", "keeps"),
        ("string", "date", "checks"),
        ("bigint", "string", "keeps"),
        ("string", "varchar(9)", "keeps"),
        ("void", "date", "keeps"),
        ("date", "boolean", "impossible"),
        ("date", "int", "impossible"),
        ("bigint", "timestamp", "impossible"),
        ("timestamp", "double", "impossible"),
        ("boolean", "int", "checks"),
        ("string", "double", "checks"),
        ("variant", "int", "checks"),
        ("variant", "array<int>", "checks"),
        ("string", "array<int>", "impossible"),
        ("string", "struct<a:int>", "impossible"),
        ("struct<a:int>", "string", "impossible"),
        ("array<int>", "varchar(9)", "impossible"),
        ("map<string,int>", "struct<a:int>", "impossible"),
        ("int", "map<string,int>", "impossible"),
        ("array<int>", "variant", "impossible"),
        ("struct<a:int>", "variant", "impossible"),
    ],
)
def test_what_a_cast_does_to_values(
    floodmark: SimpleNamespace, given: str, wanted: str, effect: str
) -> None:
    assert floodmark._cast_effect(given, wanted) == effect


@pytest.mark.parametrize(
    ("given", "known", "grows", "casts", "conformed"),
    [
        ("struct<b:int,a:int>", "struct<A:bigint,b:int>", False, True, "struct<A:bigint,b:int>"),
        ("struct<b:int,a:int>", "struct<A:bigint,b:int>", False, False, "struct<A:int,b:int>"),
        ("struct<a:int,c:int>", "struct<a:int>", True, True, "struct<a:int,c:int>"),
        ("struct<a:int,c:int>", "struct<a:int>", False, True, "struct<a:int>"),
        ("array<struct<`x y`:int>>", "array<struct<`X Y`:int>>", False, True, "array<struct<`X Y`:int>>"),
        ("map<int,struct<a:void>>", "map<bigint,struct<a:date>>", False, True, "map<bigint,struct<a:date>>"),
        ("void", "map<string,int>", False, False, "map<string,int>"),
        ("int", "void", False, True, "int"),
        ("array<int>", "struct<a:int>", False, False, "array<int>"),
    ],
)  # fmt: skip
def test_a_type_as_the_table_has_it(
    floodmark: SimpleNamespace, given: str, known: str, grows: bool, casts: bool, conformed: str
) -> None:
    assert floodmark._conformed_type(given, known, grows, casts) == conformed


def digits(text: str) -> str:
    return f"trim(both '0' from regexp_replace(lower({text}), 'e.*|[^0-9]', ''))"


CUT = (
    "not v rlike ':[0-9]+[.][0-9]{6}[0-9]*[1-9]' and "
    r"v rlike '^\\s*[-+]?\\d*\\d{4}-\\d{1,2}-\\d{1,2}(?!\\d)'"
)
SHOWN = (
    r"(not v rlike '^\\s*[-+]?\\d*\\d{4}-\\d{1,2}-\\d{1,2}(?!\\d)[T ][\\d:.]+\\s*$' "
    "or try_cast(c as timestamp_ntz) = try_cast(v as timestamp_ntz))"
)
TEXT = "try_cast(v as string)"


@pytest.mark.parametrize(
    ("given", "wanted", "holds"),
    [
        ("string", "int", "c is not null"),
        ("string", "decimal(38,0)", f"{digits('v')} = {digits('cast(c as string)')}"),
        (
            "string",
            "double",
            f"c is not null and {digits('v')} in ({digits('cast(c as string)')}, " + digits("printf('%.14e', c)") + ")",
        ),
        (
            "string",
            "float",
            f"c is not null and {digits('v')} in ({digits('cast(c as string)')}, " + digits("printf('%.5e', c)") + ")",
        ),
        ("string", "timestamp", f"c is not null and {CUT} and {SHOWN}"),
        ("string", "timestamp_ntz", f"try_cast(c as timestamp) = try_cast(v as timestamp) and {CUT}"),
        ("string", "date", f"c = try_cast(v as timestamp_ntz) and {CUT}"),
        ("variant", "int", f"(is_variant_null(v) or c = try_cast({TEXT} as int) and try_cast({TEXT} as int) is not null)"),
        ("variant", "array<int>", "(is_variant_null(v) or to_json(to_variant_object(c)) = to_json(v))"),
        ("variant", "string", "(is_variant_null(v) or c is not null)"),
        ("bigint", "double", "try_cast(c as bigint) <=> v and not c = 9223372036854775808D"),
        ("double", "bigint", "try_cast(c as double) <=> v and not v = 9223372036854775808D"),
        ("double", "float", "try_cast(c as double) <=> v"),
    ],
)  # fmt: skip
def test_when_a_value_stays_what_it_is(
    floodmark: SimpleNamespace, given: str, wanted: str, holds: str
) -> None:
    assert floodmark._cast_holds_sql("v", "c", given, wanted) == holds


@pytest.mark.parametrize(
    ("text", "is_local"),
    [
        ("2024-03-10 02:30:00", True),
        (" 2024-3-9T2:30:00.123456 ", True),
        ("+12024-03-10 02:30", True),
        # A day's first moment is what a date becomes, too.
        ("2024-03-10", False),
        ("2024-03-10 ", False),
        ("2024-03-10 02:30:00Z", False),
        ("2024-03-10 02:30:00-05:00", False),
        ("2024-03-10 02:30:00 America/New_York", False),
    ],
)
def test_times_of_the_sessions_clock(floodmark: SimpleNamespace, text: str, is_local: bool) -> None:
    """Only they can be left out by it."""
    sql = floodmark._cast_holds_sql("v", "c", "string", "timestamp")
    pattern = sql.partition("(not v rlike '")[2].partition("' or ")[0].replace("\\\\", "\\")
    assert (re.search(pattern, text) is not None) is is_local


def test_types_without_a_cast_are_named_at_their_place(floodmark: SimpleNamespace) -> None:
    problems = floodmark._cast_problems(
        "c",
        "struct<a:date,b:array<date>,c:map<int,double>>",
        "struct<a:decimal(9,0),b:array<int>,c:map<int,date>>",
    )
    assert [problem["got"] for problem in problems] == [
        "c.a date",
        "c.b.element date",
        "c.c.value double",
    ]
    problems = floodmark._cast_problems("c", "struct<a:struct<x:int>>", "struct<a:string>")
    assert [problem["got"] for problem in problems] == ["c.a struct<x:int>"]


@pytest.mark.parametrize(
    ("columns", "is_read_again"),
    [
        ({"id": "int", "v": "array<int>"}, False),
        ({"id": "int", "_floodmark_hash": "struct<a:bigint,b:bigint>"}, False),
        ({"id": "int", "_floodmark_sequence": "struct<first-name:int>"}, True),
        ({"id": "int", "n": "map<string,struct<a:int>>"}, True),
        ({"_floodmark_hash": "struct<a:bigint,b:bigint>", "n": "struct<a:int>"}, True),
    ],
)
def test_types_are_read_again_where_describe_may_not_tell_them(columns, is_read_again):
    """Three statements more, which a snapshot of flat columns does not need."""
    described = [(name, ddl, None) for name, ddl in columns.items()]
    asked = []

    def run_query(sql):
        asked.append(sql)
        return SimpleNamespace(rows=described, columns=[SimpleNamespace(values=lambda: [exact])])

    exact = json.dumps({"columns": [{"type": {"name": "int"}} for _ in columns]})
    floodmark = load(run_query=run_query)
    floodmark._execute = asked.extend
    found = floodmark._columns_of(relation="shop.orders")
    assert (len(asked) == 4) == is_read_again
    kept = [column["ddl"] for column in found if column["name"] == "_floodmark_hash"]
    assert kept == [ddl for name, ddl in columns.items() if name == "_floodmark_hash"]
