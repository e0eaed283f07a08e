"""What was seen in files, as one type: merged as Spark's own inference does it. Without Spark."""

from __future__ import annotations

import pytest

from tests.support.macros import load

floodmark = load()


@pytest.mark.parametrize(
    ("printed", "type_"),
    [
        ("OBJECT<>", "struct<>"),
        ("OBJECT<id: BIGINT, name: STRING>", "struct<id:bigint,name:string>"),
        ("OBJECT<a: DECIMAL(2,1), b: DECIMAL(21,0)>", "struct<a:decimal(2,1),b:decimal(21,0)>"),
        ("OBJECT<`a b`: VOID, `x``y`: BOOLEAN>", "struct<`a b`:void,`x``y`:boolean>"),
        ("OBJECT<`a: BIGINT, b`: VARIANT>", "struct<`a: BIGINT, b`:variant>"),
        (
            "OBJECT<s: OBJECT<b: STRING, c: ARRAY<OBJECT<q: DOUBLE>>>>",
            "struct<s:struct<b:string,c:array<struct<q:double>>>>",
        ),
        ("ARRAY<OBJECT<id: BIGINT>>", "struct<id:bigint>"),
        ("ARRAY<BIGINT>", None),
        ("BIGINT", None),
        ("VARIANT", None),
        ("", None),
        (None, None),
    ],
)
def test_what_spark_prints(printed, type_):
    assert floodmark._seen_record(printed) == type_


@pytest.mark.parametrize(
    ("opens", "is_spelt_by"),
    [("OBJECT<a: ", "VARIANT"), ("ARRAY<", "VARIANT"), ("struct<a:", "Spark"), ("array<", "Spark")],
)
def test_what_lies_deep_is_as_mixed_values_are(opens, is_spelt_by):
    """Each level takes macros that call themselves, of which Python allows few."""
    leaf = "BIGINT" if is_spelt_by == "VARIANT" else "bigint"
    own = opens.replace("OBJECT", "struct").replace(": ", ":").lower()

    def seen(levels):
        return floodmark._seen_type(opens * levels + leaf + ">" * levels)

    assert seen(20) == own * 20 + "bigint" + ">" * 20
    assert seen(21) == seen(1000) == own * 20 + "variant" + ">" * 20


@pytest.mark.parametrize(
    ("one", "other", "merged"),
    [
        ("bigint", "bigint", "bigint"),
        ("void", "bigint", "bigint"),
        ("bigint", "double", "double"),
        ("bigint", "decimal(21,0)", "decimal(21,0)"),
        ("bigint", "decimal(19,0)", "decimal(20,0)"),
        ("decimal(21,0)", "decimal(30,0)", "decimal(30,0)"),
        ("decimal(21,0)", "double", "double"),
        ("bigint", "boolean", "variant"),
        ("double", "boolean", "variant"),
        ("boolean", "string", "variant"),
        ("struct<a:bigint>", "bigint", "variant"),
        ("array<bigint>", "struct<a:bigint>", "variant"),
        ("array<bigint>", "array<double>", "array<double>"),
        ("array<void>", "array<struct<a:bigint>>", "array<struct<a:bigint>>"),
        (
            "struct<b:bigint>",
            "struct<A:string,b:double,`a b`:void>",
            "struct<A:string,`a b`:void,b:double>",
        ),
        ("struct<Name:string>", "struct<name:bigint>", "struct<Name:string,name:bigint>"),
    ],
)
def test_two_types(one, other, merged):
    assert floodmark._merged_types(one, other) == merged
    assert floodmark._merged_types(other, one) == merged


@pytest.mark.parametrize(
    ("one", "other", "of_texts", "of_types"),
    [
        ("date", "timestamp", "timestamp", "string"),
        ("date", "timestamp_ntz", "timestamp_ntz", "timestamp_ntz"),
        ("timestamp", "timestamp_ntz", "variant", "string"),
    ],
)
def test_days_and_moments(one, other, of_texts, of_types):
    assert floodmark._merged_types(one, other) == of_texts
    assert floodmark._joined_records(f"struct<d:{other}>", f"struct<d:{one}>", "string") == (
        f"struct<d:{of_types}>"
    )


@pytest.mark.parametrize(
    ("seen", "typed", "texts"),
    [
        ("struct<a:bigint,b:void>", "struct<a:bigint,b:string>", "struct<a:string,b:string>"),
        ("struct<a:struct<>,b:array<struct<>>>", None, None),
        (
            "struct<a:array<void>,b:struct<c:array<struct<d:double,e:struct<>>>>>",
            "struct<a:array<string>,b:struct<c:array<struct<d:double>>>>",
            "struct<a:array<string>,b:struct<c:array<struct<d:string>>>>",
        ),
        (
            "struct<a:decimal(21,0),`b c`:boolean>",
            "struct<a:decimal(21,0),`b c`:boolean>",
            "struct<a:string,`b c`:string>",
        ),
    ],
)
def test_what_is_kept(seen, typed, texts):
    assert floodmark._kept_type(seen, True) == typed
    assert floodmark._kept_type(seen, False) == texts


def test_numbers_of_xml_need_a_type_each():
    own = load(invocation_args_dict={"project_dir": "/p"})
    asked = []
    own._query_json = lambda sql: [
        asked.append(sql)
        or {
            "n": {
                "n": 1,
                "others": 0,
                "whole": 10,
                "scale": 0,
                "least": "1",
                "greatest": "3000000000",
            }
        }
    ]
    settings = {
        "format": "xml",
        "single_variant_column": None,
        "case_sensitive": True,
        "path": "file:/in",
        "glob": "*",
    }
    known = "struct<n:int,s:struct<n:int>,t:string>"
    seen = "struct<n:string,s:struct<n:string>,t:string,x:string>"
    files = [{"path": "file:/in/a.xml"}]
    needed = own._xml_needed(settings, files, known, seen)
    assert needed == "struct<n:bigint,s:struct<n:string>,t:string,x:string>"
    assert len(asked) == 1 and "`s`" not in asked[0] and "`t`" not in asked[0]
    assert own._xml_needed(settings, files, None, seen) == seen


def test_spark_keeps_metadata_for_itself_among_columns_alone():
    seen = "struct<_metadata:string,`a`:struct<_metadata:bigint,``:bigint>>"
    read = floodmark._read_record("struct<a:struct<b:int>>", seen)
    assert read == "struct<a:struct<b:int,_metadata:string>>"


def test_the_rescued_data_of_nested_structs_stands_once_in_a_plan():
    """Within CASE Spark writes what nullif asks twice: of 20 levels that would make a million."""
    nested = "struct<a:" * 20 + "string" + ">" * 20
    sql = floodmark._rescued_fields_sql(nested, nested, "", "record")
    assert sql.count("nullif(concat_ws(") == 1
    assert sql.count("get(regexp_extract_all(concat_ws(") == 19


def test_names_of_floodmarks_own_are_in_no_record_of_json():
    """A window has columns of its own with such names."""
    seen = "struct<_floodmark_bad:string,_Floodmark_why:string,_metadata:string,a:int,b:int>"
    settings = {"format": "json", "options": {}, "case_sensitive": True}
    batch = {"record": "struct<a:int>", "files": [], "looks_clean": True}
    run = {"settings": {"files": settings | {"single_variant_column": None, "schema": None}}}
    look = {"files": {}, "seen": seen, "is_huge": False}
    [group] = floodmark._json_groups(run, batch, look)
    assert group["record"] == "struct<a:int,b:string>"
