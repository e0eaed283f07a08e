"""The schema of a batch of files: hints, new columns at every depth, columns that differ in case alone. Without Spark."""

from __future__ import annotations

import itertools
import json
import re
from types import SimpleNamespace

import pytest

from tests.support.macros import Refused, load

floodmark = load()


@pytest.mark.parametrize(
    ("text", "hints"),
    [
        (None, []),
        ("amount decimal(10, 2)", [(["amount"], "decimal(10,2)")]),
        ("a  INT, b: Long", [(["a"], "int"), (["b"], "bigint")]),
        ("a.b string, `x.y`.`z z` date", [(["a", "b"], "string"), (["x.y", "z z"], "date")]),
        (
            "arr.element.x int, m.key string, m.value double",
            [
                (["arr", "element", "x"], "int"),
                (["m", "key"], "string"),
                (["m", "value"], "double"),
            ],
        ),
        (
            "s STRUCT<a: INT, `b c`  STRING, d: ARRAY < MAP<STRING, numeric> >>",
            [(["s"], "struct<a:int,`b c`:string,d:array<map<string,decimal(10,0)>>>")],
        ),
        (
            "t timestamp_ntz , u decimal( 5 , 2 )",
            [(["t"], "timestamp_ntz"), (["u"], "decimal(5,2)")],
        ),
        (
            "a int not null, b.c decimal(10,2) comment 'net, in EUR', d date comment \"(\"",
            [(["a"], "int"), (["b", "c"], "decimal(10,2)"), (["d"], "date")],
        ),
        ("a", None),
        ("a int,, b int", None),
        ("a..b int", None),
    ],
)
def test_hints(text, hints):
    found = floodmark._hints(text)
    assert hints == (found and [(one["path"], one["type"]) for one in found])


def hinted(record, text):
    return floodmark._hinted_record(record, floodmark._hints(text))


def test_a_hint_gives_type_and_spelling():
    assert hinted("struct<amount:string,Name:string>", "amount decimal(10,2), name string") == (
        "struct<amount:decimal(10,2),name:string>"
    )
    assert (
        hinted("struct<name:string,NAME:string,x:string>", "Name int")
        == "struct<Name:int,x:string>"
    )


@pytest.mark.parametrize("seen", [None, "struct<price:string>", "struct<price:struct<value:int>>"])
def test_a_struct_may_have_fields_called_value_key_and_element(seen):
    """Another field of it tells that it is no map and no array, in either order."""
    hints = ["price.value decimal(10,2)", "price.currency string", "price.Element int"]
    found = {hinted(seen, ", ".join(order)) for order in itertools.permutations(hints)}
    assert {one.count("map<") + one.count("array<") for one in found} == {0}
    fields = {tuple(sorted(one[len("struct<price:struct<") : -2].split(","))) for one in found}
    assert fields == {tuple(sorted(["value:decimal(10", "2)", "currency:string", "Element:int"]))}


def test_a_map_and_an_array_are_told_by_their_steps_alone():
    text = "m.key date, m.value int, a.element.x int, a.element.value string"
    assert hinted(None, text) == ("struct<m:map<date,int>,a:array<struct<x:int,value:string>>>")


@pytest.mark.parametrize(
    ("seen", "text", "expected"),
    [
        ("struct<a:bigint,b:double>", "t.value int", "map<string,int>"),
        ("struct<a:bigint,b:double>", "t.key date", "map<date,double>"),
        ("struct<a:struct<x:int,y:int>>", "t.value.x date", "map<string,struct<x:date,y:int>>"),
        ("struct<x:int>", "t.element.y date", "array<struct<x:int,y:date>>"),
        ("struct<value:int>", "t.value date", "struct<value:date>"),
    ],
)
def test_an_object_that_was_seen_may_be_a_map(seen, text, expected):
    assert hinted(f"struct<t:{seen}>", text) == f"struct<t:{expected}>"
    structs = floodmark._hints("t.value date", True)
    assert floodmark._hinted_record(f"struct<t:{seen}>", structs).startswith("struct<t:struct<")


def test_a_record_is_no_map():
    assert hinted("struct<a:int>", "key int, value date") == "struct<a:int,key:int,value:date>"


def test_what_was_not_seen_yet_comes_last():
    assert (
        hinted("struct<a:string>", "z int, s.b date") == "struct<a:string,z:int,s:struct<b:date>>"
    )
    assert hinted(None, "a int") == "struct<a:int>"
    assert hinted(None, None) is None


def test_paths_into_arrays_and_maps():
    assert hinted("struct<l:array<struct<x:string,y:string>>>", "l.element.x int") == (
        "struct<l:array<struct<x:int,y:string>>>"
    )
    assert hinted("struct<m:struct<a:string>>", "m map<string, int>") == "struct<m:map<string,int>>"
    assert hinted(None, "m.key string, m.value int, l.element date") == (
        "struct<m:map<string,int>,l:array<date>>"
    )
    # A struct may have a field of that name.
    assert hinted("struct<s:struct<key:string>>", "s.key int") == "struct<s:struct<key:int>>"


def evolved(known, seen, hints=None, adds=True):
    found = floodmark._evolved(known, seen, floodmark._hints(hints), adds)
    return found["record"], [".".join(path) for path in found["added"]]


def test_the_first_batch():
    assert evolved(None, "struct<a:string,b:bigint>") == ("struct<a:string,b:bigint>", [])
    assert evolved(None, "struct<Name:string,name:string>") == ("struct<Name:string>", [])
    assert evolved(None, "struct<Name:string,name:string>", "name string") == (
        "struct<name:string>",
        [],
    )
    assert evolved(None, None) == (None, [])
    assert evolved(None, None, "a int") == ("struct<a:int>", [])


def test_new_columns_come_last_at_every_depth():
    known = "struct<id:int,s:struct<b:string>,l:array<struct<x:int>>>"
    seen = (
        "struct<a:string,id:bigint,l:array<struct<w:string,x:string>>,s:struct<a:string,b:bigint>>"
    )
    assert evolved(known, seen) == (
        "struct<id:int,s:struct<b:string,a:string>,l:array<struct<x:int,w:string>>,a:string>",
        ["s.a", "l.element.w", "a"],
    )
    assert evolved(known, seen, adds=False) == (known, [])


def test_a_known_column_keeps_its_type_and_spelling():
    assert evolved("struct<id:int>", "struct<ID:string,id:struct<a:int>>") == ("struct<id:int>", [])
    assert evolved("struct<id:int>", None) == ("struct<id:int>", [])


def test_new_columns_take_their_hints():
    assert evolved("struct<id:int>", "struct<id:int,amount:string>", "AMOUNT decimal(5,2)") == (
        "struct<id:int,AMOUNT:decimal(5,2)>",
        ["AMOUNT"],
    )
    assert evolved("struct<s:struct<a:int>>", "struct<s:struct<b:string>>", "s.b date") == (
        "struct<s:struct<a:int,b:date>>",
        ["s.b"],
    )


UNTYPED = "struct<x:void,l:array<void>,m:map<string,void>,s:struct<a:void,b:int>,z:void>"


def test_what_had_no_type_is_new_once_it_has_one():
    seen = "struct<l:array<struct<Y:int,y:int>>,m:map<string,date>,s:struct<a:string,b:int>,x:string,z:void>"
    assert evolved(UNTYPED, seen) == (
        "struct<x:string,l:array<struct<Y:int>>,m:map<string,date>,s:struct<a:string,b:int>,z:void>",
        ["x", "l", "m", "s.a"],
    )
    assert evolved(UNTYPED, seen, adds=False) == (UNTYPED, [])
    assert evolved("struct<x:void>", "struct<w:int,x:int>") == ("struct<x:int,w:int>", ["x", "w"])
    assert evolved("struct<x:void>", "struct<x:void>") == ("struct<x:void>", [])


@pytest.mark.parametrize("adds", [True, False])
def test_a_hint_gives_a_type_to_what_had_none(adds):
    told = floodmark._hints("X string, l.element int, s.a date")
    found = floodmark._evolved(UNTYPED, "struct<x:int>", told, adds, None, told)
    assert found["record"] == (
        "struct<x:string,l:array<int>,m:map<string,void>,s:struct<a:date,b:int>,z:void>"
    )
    assert found["added"] == [["x"], ["l"], ["s", "a"]]


def test_what_a_reset_left_without_a_type_has_the_one_that_the_table_has():
    former = floodmark._former_hints(
        "struct<x:void,id:int>", "struct<x:int,id:int,old:date,n:void>"
    )
    seen = "struct<id:int,x:string>"
    found = floodmark._evolved("struct<x:void,id:int>", seen, former, True, None, [])
    assert found == {"record": "struct<x:int,id:int>", "added": [["x"]]}
    assert [hint["path"] for hint in former] == [["x"], ["old"]]


@pytest.mark.parametrize("adds", [True, False])
def test_a_hint_that_comes_later_is_known_from_then_on(adds):
    told = floodmark._hints(
        "`order id` int, ID int, s.b date, m.value int, l.element.x int, s.c int"
    )
    found = floodmark._evolved("struct<id:string>", None, told, adds, None, told)
    assert found["record"] == (
        "struct<id:string,`order id`:int,s:struct<b:date,c:int>,m:map<string,int>,l:array<struct<x:int>>>"
    )
    assert found["added"] == [["order id"], ["s"], ["m"], ["l"]]
    again = floodmark._evolved(found["record"], None, told, adds, None, told)
    assert (again["record"], again["added"]) == (found["record"], [])


def test_a_hint_that_comes_later_reaches_into_known_structs():
    told = floodmark._hints("s.b date, l.element.y int, S.a int, v.value int, v.c int")
    known = "struct<s:struct<a:string>,l:array<struct<x:int>>,v:struct<u:int>>"
    found = floodmark._evolved(known, None, told, False, None, told)
    assert found["record"] == (
        "struct<s:struct<a:string,b:date>,l:array<struct<x:int,y:int>>,v:struct<u:int,value:int,c:int>>"
    )
    assert found["added"] == [["s", "b"], ["l", "element", "y"], ["v", "value"], ["v", "c"]]


@pytest.mark.parametrize("step", ["key", "value", "element", "value.deep", "element.x"])
def test_a_hint_takes_no_known_struct_for_a_map_or_an_array(step):
    told = floodmark._hints(f"t.{step} int")
    known = "struct<t:struct<u:int>>"
    found = floodmark._evolved(known, None, told, True, None, told)
    assert found == {"record": known, "added": []}
    # A field of that name that comes has its type.
    field = step.partition(".")[0]
    seen = f"struct<t:struct<{field}:string>>"
    found = floodmark._evolved(known, seen, told, True, None, told)
    assert found["added"] == [["t", field]]
    assert ("string" in found["record"]) is False


def test_what_a_reset_left_behind_comes_again_only_with_files():
    former = [{"path": ["old"], "type": "int"}]
    found = floodmark._evolved("struct<id:int>", None, former, True, None, [])
    assert found == {"record": "struct<id:int>", "added": []}


def plan(known, seen, *paths, begins=True, **given):
    """The schema that a batch plans, whose files have these columns, where the table's last one was `known`."""
    own = load(invocation_args_dict=SimpleNamespace(project_dir="/work"))
    given = {"path": "/in", "format": "parquet"} | given
    own._known_schema = lambda _: known
    own._look_at_files = lambda *_: {"files": {}, "seen": seen}
    own._told_record = lambda ddl: f"struct<{ddl.replace(' ', ':')}>"
    files = own._completed_files(own._with_defaults(given, own._files_schema()))
    run = {
        "settings": {"files": files},
        "generation": "g1" if begins else None,
        "state": {"committed": {"generation": "g1"}},
        "target": {"exists": True},
    }
    return own._plan_schema(run, begins, [{"path": f"file:/in/{path}"} for path in paths])[
        "file_schema"
    ]


@pytest.mark.parametrize(
    ("known", "given", "paths", "format"),
    [
        (None, None, ["a.csv", "b.csv.gz"], "csv"),
        (None, None, [], None),
        (None, None, ["a.csv", "b.json"], "a.csv is csv, b.json is json"),
        (None, None, ["a.csv", "b"], "a.csv is csv, b may be anything"),
        ("csv", None, ["a.csv", "b"], "csv"),
        ("csv", None, ["a.csv", "b.json"], "what was loaded before is csv, b.json is json"),
        ("csv", "json", ["a.csv", "b"], "json"),
    ],
)
def test_the_names_of_files_tell_their_format(known, given, paths, format):
    """Those of each batch, also of the next one in a run, which knows the format by then."""
    macros = load()
    run = {"settings": {"files": macros._with_defaults({"format": given}, macros._files_schema())}}
    known = {"format": known} if known else None
    files = [{"path": f"file:/in/{path}"} for path in paths]
    if " " in (format or ""):
        with pytest.raises(Refused, match=re.escape(f"do not agree ({format}). Add it, or leave")):
            macros._settle_format(run, known, files)
        return
    for _ in range(2):
        macros._settle_format(run, known, files)
        assert run["settings"]["files"]["format"] == format
    if format and not given:
        with pytest.raises(Refused, match=f"before is {format}, c.orc is orc"):
            macros._settle_format(run, None, [{"path": "file:/in/c.orc"}])


def test_hints_that_change_nothing_are_told():
    own = load()
    own._hints = floodmark._hints

    def said(record, hints, evolution="add_new_columns", partitions=()):
        files = {"schema_hints": hints, "schema_evolution": evolution}
        run = {"settings": {"files": files}}
        own._warn_of_hints(run, {"record": record, "partitions": list(partitions)})
        return [one for one in run.get("warnings", []) if one]

    record = "struct<n:bigint,d:string,s:struct<a:int,b:date>,m:map<string,int>,l:array<struct<x:int>>,v:variant>"
    fine = "N bigint, s.A int, s struct<b: date>, m.key string, m.value int, l.element.x int, v variant"
    assert said(record, fine) == said(record, None) == []
    day = {"name": "day", "type": "string"}
    assert said(record, "day string", partitions=[day]) == []
    [found] = said(record, "d date, day date, s.value int, l.x int, s.b.c int", "fail", [day])
    assert found == (
        "files.schema_hints cannot change what the table has: d date (d is string), day date (day is string), "
        "s.value int (s is struct<a:int,b:date>), l.x int (l is array<struct<x:int>>), s.b.c int (s.b is date). "
        "Correct them, or run once with --full-refresh"
    )
    [found] = said(record, "w int, n int, v int")
    assert (
        "w int (the table has no such column), n int (n is bigint), v int (v is variant)" in found
    )
    # A column may have grown out of its hint.
    assert said(record, "n int, l array<struct<x: smallint>>", "widen") == []
    [found] = said(record, "v int, n string, d int", "widen")
    assert found.count(" is ") == 3


@pytest.mark.parametrize(
    ("path", "given", "begins", "added"),
    [
        ("day=1/Store=2/a.parquet", {}, False, [["x"], ["day"]]),
        # The known record has it, or the table that is made.
        ("ID=1/a.parquet", {}, False, [["x"]]),
        ("day=1/a.parquet", {}, True, []),
        # A hint of a folder that comes later is no column of records.
        ("day=1/a.parquet", {"schema_hints": "day int"}, False, [["x"], ["day"]]),
        ("day=1/a.parquet", {"partition_columns": []}, False, [["x"]]),
    ],
)
def test_a_plan_names_the_folders_that_become_columns(path, given, begins, added):
    store = [{"name": "store", "type": "int"}]
    known = {"version": 1, "record": "struct<id:int>", "partitions": store, "format": "parquet"}
    found = plan(None if begins else known, "struct<id:int,x:int>", path, begins=begins, **given)
    assert found["added"] == added


#: What files without a record made a table of.
NO_RECORD = {
    "version": 1,
    "format": "parquet",
    "record": "struct<id:int,V:int,s:struct<a:int>,n:void>",
    "partitions": [{"name": "store", "type": "int"}],
    "added": [],
}


def test_the_first_record_has_the_types_of_a_table_that_is_there():
    seen = "struct<id:bigint,n:string,s:struct<a:string,b:string>,v:string,w:date>"
    schema = plan(NO_RECORD, seen, "store=1/b.parquet", "store=north/c.parquet")
    assert schema["record"] == "struct<id:int,n:string,s:struct<a:int,b:string>,v:int,w:date>"
    assert schema["partitions"] == NO_RECORD["partitions"]
    assert (schema["version"], schema["added"]) == (2, [])
    # Widened it may be.
    wide = plan(NO_RECORD, seen, "store=1/b.parquet", schema_evolution="widen")
    assert wide["record"] == schema["record"].replace("id:int", "id:bigint")


def test_the_first_record_decides_which_columns_there_are():
    """One that comes later has the type of the table, too."""
    first = plan(NO_RECORD, "struct<id:int>", "b.parquet", schema_evolution="none")
    assert (first["record"], first["partitions"]) == ("struct<id:int>", [])
    later = plan(first, "struct<V:string,id:int>", "store=north/c.parquet", begins=False)
    assert later["record"] == "struct<id:int,V:int>"
    assert later["partitions"] == NO_RECORD["partitions"]
    assert plan(NO_RECORD, None, "b.parquet")["record"] == "struct<>"


@pytest.mark.parametrize(
    ("given", "levels"),
    [
        ({"format": "text"}, ["n", "day"]),
        ({"format": "text", "schema_evolution": "none"}, ["n"]),
        ({"format": "json", "single_variant_column": "value"}, ["n", "day"]),
        ({"format": "csv", "schema": "value string"}, ["n"]),
    ],
)
def test_a_level_of_folders_comes_later_whatever_the_records_columns_are(given, levels):
    known = {"version": 1, "format": given["format"], "record": "struct<value:string>"}
    known |= {"partitions": [{"name": "n", "type": "int"}], "added": []}
    schema = plan(known, None, "n=web/day=1/a.log", begins=False, **given)
    assert [one["name"] for one in schema["partitions"]] == levels
    assert schema["partitions"][0]["type"] == "int"
    assert floodmark._types_of(schema["record"]).keys() == {"value"}


@pytest.mark.parametrize("given", [{}, {"single_variant_column": "v"}])
def test_what_is_known_before_the_format_holds_behind_it(given):
    files = floodmark._with_defaults({"path": "in"} | given, floodmark._files_schema())
    whole = floodmark._completed_files(floodmark._completed_files(files) | {"format": "json"})
    assert whole["adds_folders"] is True
    assert (whole["schema_evolution"] == "none") == bool(given)


@pytest.mark.parametrize(
    ("path", "columns"),
    [("a.csv", "struct<day:date,id:int,nm:string>"), ("day=1/a.csv", "struct<id:int,nm:string>")],
)
def test_a_planned_batch_has_the_columns_of_its_plan(path, columns):
    """Whatever `schema` says since; CSV without a header is read by the places that they had."""
    ddl = "day date,id int,nm string"
    planned = plan(None, None, path, format="csv", schema=ddl)
    assert planned["record"] == columns
    floodmark = load(this=SimpleNamespace(schema="shop", identifier="m"))
    floodmark.ledger_schema = lambda: "shop_floodmark"
    floodmark._record_of = lambda ddl: f"struct<{ddl.replace(' ', ':')}>"
    floodmark._query_json = lambda _: [{"files": [], "file_schema": json.dumps(planned)}]
    run = {"settings": {"files": {"format": "csv", "schema": "id int,name string"}}, "stages": []}
    assert floodmark._stored_files(run, 2)["record"] == columns
    assert run["known_record"] == "struct<day:date,id:int,nm:string>"


def test_the_format_of_a_planned_batch_is_that_of_names():
    """The batch that the same run plans behind it asks them again."""
    floodmark = load(this=SimpleNamespace(schema="shop", identifier="m"))
    floodmark.ledger_schema = lambda: "shop_floodmark"
    planned = plan(None, None, "a.csv", format="csv", schema="id int")
    floodmark._query_json = lambda _: [{"files": [], "file_schema": json.dumps(planned)}]
    files = floodmark._with_defaults({"path": "in"}, floodmark._files_schema())
    run = {"settings": {"files": files}, "stages": []}
    floodmark._stored_files(run, 2)
    assert run["settings"]["files"]["format"] == "csv"
    floodmark._settle_format(run, None, [{"path": "file:/in/b.csv"}])
    with pytest.raises(Refused, match=r"c\.json is json"):
        floodmark._settle_format(run, None, [{"path": "file:/in/c.json"}])


def test_hints_of_folders_are_no_columns_of_records():
    known = {"partitions": [{"name": "Day", "type": "date"}]}
    told = floodmark._told_columns({"schema_hints": "day date, n int"}, known)
    assert [hint["path"] for hint in told] == [["n"]]
    assert len(floodmark._told_columns({"schema_hints": "day date"}, None)) == 1


@pytest.mark.parametrize(
    ("type", "kept"),
    [
        ("struct<a:int,`first name`:string>", "struct<a:int>"),
        ("struct<`first name`:string>", None),
        ("array<struct<`x,y`:int,z:int>>", "array<struct<z:int>>"),
        ("map<string,struct<`x y`:int>>", None),
        ("map<string,struct<`x y`:int,z:int>>", None),
        ("map<string,struct<z:int>>", "map<string,struct<z:int>>"),
        ("map<string,int>", "map<string,int>"),
    ],
)
def test_what_a_column_may_have_within(type, kept):
    run = {"settings": {"files": {"rescued_data_column": "rest"}}}
    own = "_metadata:string,_floodmark_reason:string,Rest:string"
    columns = floodmark._loadable_columns(run, f"struct<`my col`:{type},{own},b:int>")
    expected = [{"name": "my col", "type": kept}] if kept else []
    assert columns == [*expected, {"name": "b", "type": "int"}]


@pytest.mark.parametrize(
    ("known", "seen", "read", "added"),
    [
        (
            "map<string,struct<a:int>>",
            "struct<k:struct<a:bigint,b:bigint>,`l m`:struct<a:string>>",
            "map<string,struct<a:int,b:boolean>>",
            [["m", "value", "b"]],
        ),
        (
            "array<map<string,array<struct<a:int>>>>",
            "array<struct<k:array<struct<c:struct<x:int>>>>>",
            "array<map<string,array<struct<a:int,c:boolean>>>>",
            [["m", "element", "value", "element", "c"]],
        ),
        (
            "array<struct<a:int>>",
            "array<struct<a:bigint,`unit price`:decimal(3,2),t:string,v:void>>",
            "array<struct<a:int,`unit price`:boolean,t:boolean,v:boolean>>",
            None,
        ),
        (
            "struct<a:int>",
            "struct<a:bigint,b:bigint,t:string,v:variant>",
            "struct<a:int,b:string,t:variant,v:variant>",
            None,
        ),
        ("map<string,int>", "struct<k:bigint>", "map<string,int>", []),
        ("map<string,struct<a:int>>", "struct<>", "map<string,struct<a:int>>", []),
        ("map<string,struct<a:int>>", "struct<k:variant>", "map<string,struct<a:int>>", []),
        ("map<string,struct<a:int>>", "variant", "map<string,struct<a:int>>", []),
    ],
)
def test_what_arrays_and_maps_hold_besides_is_read_too(known, seen, read, added):
    record = floodmark._read_record(f"struct<m:{known}>", f"struct<m:{seen}>")
    assert record == f"struct<m:{read}>"
    assert floodmark._has_unknown(f"struct<m:{known}>", record) is (known != read)
    if added is not None:
        named = []
        of = (f"struct<m:{known}>", f"struct<m:{seen}>", [], [])
        assert (
            floodmark._grown(*of, named, None, True) == f"struct<m:{known}>" or "map" not in known
        )
        assert named == added
        unnamed = []
        floodmark._grown(*of, unnamed)
        assert unnamed == []


@pytest.mark.parametrize(
    ("record", "is_other"),
    [
        ("struct<m:map<string,int>,n:map<string,array<map<string,int>>>>", False),
        ("struct<m:map<string,map<int,string>>>", True),
        ("struct<l:array<map<date,string>>>", True),
        ("struct<`map<int,x`:int>", False),
    ],
)
def test_keys_of_maps_in_json_are_strings(record, is_other):
    settings = {"schema": None, "schema_hints": "m.key int"}
    for format in ("json", "parquet"):
        settings["format"] = format
        try:
            floodmark._check_json_keys(settings, record)
            assert not (is_other and format == "json")
        except Refused as refused:
            assert is_other and format == "json"
            assert (
                "files.schema_hints: got \"m.key int\"; expected string keys with format 'json'."
                in str(refused)
            )
