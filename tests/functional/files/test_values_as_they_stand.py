"""Values that must come out as they stand in the file: digits, quotes, what is in arrays and maps, names of folders."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.support.files import columns, land, lines, loader, quarantined, records
from tests.support.harness import Project, Run, sentence

pytestmark = [pytest.mark.long("session"), pytest.mark.edge]

RESCUE = {"schema_evolution": "rescue"}
LONG = "12345678901234567890123456789012345.25"
DECIMALS = "id int, v decimal(38, 2), w decimal(30, 4), l array<decimal(38, 2)>, m map<string, decimal(38, 1)>"
JSON_DECIMALS = lines(
    '{"id":1,"v":1.25,"w":"2.50","l":[1.5,null,2],"m":{"a":1.50}}',
    '{"id":2,"v":1.255,"w":0.30000000000000004,"l":[1.50,1.255],"m":{"a":1.5,"b":1.25}}',
    f'{{"id":3,"v":{LONG},"w":1E2,"l":null,"m":null}}',
    '{"id":4,"v":"n/a","w":true,"l":[{"x":1}],"m":{"a":"q"}}',
    '{"id":"q","v":-0.005,"w":null,"l":"no","m":{}}',
    f'{{"id":6,"v":99{LONG},"w":"1.00001"}}',
)
NESTED = (
    "id int, l array<struct<a: int, s: array<struct<d: double>>>>, m map<string, struct<a: int>>"
)
JSON_NESTED = lines(
    '{"id":1,"l":[{"a":1,"b":2.50},{"a":1,"b":{"x":1.10}}]}',
    '{"id":2,"l":[{"a":1,"s":[{"d":1.50,"unit price":"7"}]}]}',
    '{"id":3,"l":[{"a":1},{"a":2,"s":[{"d":1.50}]}],"m":{"k":{"a":1}}}',
    '{"id":4,"l":[{"a":1,"b":true}]}',
    '{"id":5,"m":{"k":{"a":1,"b":2.50},"l":{"a":2}}}',
    '{"id":6,"m":{"k":{"a":"q"}}}',
    '{"id":7,"m":{"k":{"a":1,"b":null},"l":null}}',
    '{"id":8,"m":"none"}',
    '{"id":9,"m":{"k":"none","l":{"a":1}}}',
    '{"id":10,"l":[{"a":1.0,"b":2}]}',
)
HINTED = {"format": "json", "schema_hints": "m map<string, struct<a int>>"}
ODD = (
    "id int, d decimal(12, 4), t tinyint, at timestamp, n timestamp_ntz, "
    "s struct<d: decimal(5, 2), k: int>, l array<tinyint>, m map<string, timestamp>"
)
JSON_ODD = lines(
    '{"id":1,"d":"1.5","t":-128,"at":"2024-01-01T08:30:00Z","n":"2024-01-01 08:30:00","s":{"d":"2.5","k":1},'
    '"l":[1,127],"m":{"a":"2024-01-01"}}',
    '{"id":2,"d":"1,5","t":200,"at":1704067200000,"n":"2024-01-01T08:30:00+02:00","s":{"d":"1,5","k":1},'
    '"l":[1,200],"m":{"a":1}}',
    '{"id":3,"d":"1.234,50","t":-129,"at":"08:30","n":"2024","s":{"d":1.255},"l":[],"m":{"a":"2024"}}',
    '{"id":4,"d":"null","at":"1704067200"}',
)
HUGE = "id int, x double, f float, l array<double>, m map<string, double>, o struct<x: double>"
JSON_HUGE = lines(
    '{"id":1,"x":1e400,"f":1.5,"l":[1.5,null],"m":{"a":2.50},"o":{"x":1,"_metadata":{"z":2}}}',
    '{"id":2,"x":1e300,"f":1e39,"l":[1,-1e400],"m":{"a":1e400},"o":{"x":1e400,"y":1}}',
    '{"id":3,"x":"Infinity"}',
)
CSV_ODD = (
    "id,x,f,at,n\n1,1.5,NaN,2024-01-01T08:30:00Z,2024-01-01 08:30:00\n2,12D,3f,08:30,2024-01-01T08:30:00Z\n"
    "3,1e2,-Inf,2024,2024-01-01\n4,-1e400,1e39,,\n"
)
CSV: dict[str, dict[str, bytes | str]] = {
    "tabs": {"a.csv": '"id"\t"name"\t"x"\n"1"\t"b\tc"\t2\n3\t""\t\n'},
    "spaces": {"a.csv": '"id" "a name" "x"\n1 "b c" 2\n'},
    "blanks": {"a.csv": 'id,name\n1,"abc" \n"2" ,b\n"3"\t,"c ""d""" \t\n4,"open\n'},
    "odd_csv": {"a.csv": CSV_ODD},
    # Spark gives this name to the text of a corrupt record.
    "own_bad": {"a.csv": "_corrupt_record,zip\n5,007\n"},
    "german": {"a.csv": "id;d\n1;1.234,50\n2;1,23456\n"},
    "decimals_csv": {"a.csv": f"id,v\n1,1.25\n2,1.255\n3,{LONG}\n4,x\n5,1.2500\n"},
}
XML = "<r>" + "".join(
    f"<row><id>{n}</id><v>{v}</v><n>2024-01-01T08:30:00{zone}</n></row>"
    for n, (v, zone) in enumerate([("1.25", ""), ("1.255", ""), (LONG, ""), ("x", "+02:00")], 1)
)
#: A value of an attribute may contain `>`, and `/>`.
XML_MARKS = (
    """<rows><row note="a>b"/><row note='"c"/>'/><row/><row\n note="d" ><id>1</id></row ></rows>"""
)
FOLDERS = {
    "my col=1/a.json": lines({"id": 1}),
    "report (rev=2)/day=3/b.json": lines({"id": 2}),
    "=4/c.json": lines({"id": 3}),
}
AVRO = "org.apache.spark.sql.avro.AvroFileFormat"
MODELS = {
    "decimals": loader("decimals", format="json", schema=DECIMALS, **RESCUE),
    "decimals_csv": loader("decimals_csv", schema="id int, v decimal(38, 2)", **RESCUE),
    "decimals_xml": loader(
        "decimals_xml",
        format="xml",
        schema="id int, v decimal(38, 2), n timestamp_ntz",
        options={"rowTag": "row"},
        **RESCUE,
    ),
    "odd": loader("odd", format="json", schema=ODD, **RESCUE),
    "huge": loader("huge", format="json", schema=HUGE, **RESCUE),
    "odd_csv": loader(
        "odd_csv", schema="id int, x double, f float, at timestamp, n timestamp_ntz", **RESCUE
    ),
    "odd_inferred": loader("odd_csv", infer_column_types=True),
    "own_bad": loader("own_bad", infer_column_types=True),
    "german": loader(
        "german",
        format="csv",
        schema="id int, d decimal(8, 2)",
        options={"sep": ";", "locale": "de-DE"},
        **RESCUE,
    ),
    "xml_marks": loader("xml_marks", format="xml", options={"rowTag": "row"}),
    "nested": loader("nested", format="json", schema=NESTED, **RESCUE),
    "hinted": loader("hinted", **HINTED),
    "failing": loader("hinted", **HINTED | {"schema_evolution": "fail"}),
    "mistyped": loader(
        "hinted", format="json", schema_hints="a numba, `b c`.d varchar(3), id int, e decimal(3, 5)"
    ),
    "keyed": loader("hinted", format="json", schema_hints="m.key int"),
    # Their formats are told by the names of the files.
    "told_text": loader("texts", schema="id int"),
    "told_avro": loader("avros", single_variant_column="v"),
    "miswritten": loader("hinted", format="json", schema="id int, a struct<b: char(2)>"),
    "tabs": loader("tabs", format="csv", options={"sep": "\t"}),
    "spaces": loader("spaces", format="csv", options={"sep": " "}),
    "blanks": loader("blanks"),
    "folders": loader("folders", format="json"),
    "named_folders": loader(
        "folders",
        "* except (`my col`, _metadata), `my col` as my_col",
        format="json",
        schema_hints="`my col` int",
    ),
    "avros": loader("avros", format="avro"),
}


@pytest.fixture(scope="module")
def told(make_project: Callable[..., Project]) -> tuple[Project, Run]:
    project = make_project("values_as_they_stand")
    root = project.root
    for folder, files in CSV.items():
        land(root / folder, files)
    land(root / "decimals", {"a.json": JSON_DECIMALS})
    land(root / "decimals_xml", {"a.xml": XML + "</r>"})
    land(root / "xml_marks", {"a.xml": XML_MARKS, "cut.xml": "<rows><row note='a>b'>"})
    land(root / "odd", {"a.json": JSON_ODD})
    land(root / "huge", {"a.json": JSON_HUGE})
    land(root / "nested", {"a.json": JSON_NESTED})
    land(root / "hinted", {"a.json": lines({"id": 1, "m": {"k": {"a": 1}}})})
    land(root / "folders", FOLDERS)
    land(root / "texts", {"a.txt": "a\n"})
    project.sql(
        f"insert overwrite directory '{root}/written' using `{AVRO}` "
        "select /*+ repartition(3) */ id from range(9)"
    )
    (root / "avros").mkdir()
    for number, file in enumerate(sorted((root / "written").glob("*.avro"))):
        content = file.read_bytes()
        # Its schema is whole, and the mark behind it that each block repeats is not.
        cut = content.index(b"avro.schema") + 150 if not number else len(content)
        (root / f"avros/{number}.avro").write_bytes(content[:cut])
    for name, sql in MODELS.items():
        project.model(name, sql)
    project.dbt("run")
    land(root / "hinted", {"b.json": lines('{"id":2,"m":{"k":{"a":1,"b":2.50}}}')})
    land(root / "folders", {"my col=2/day=4/d.json": lines({"id": 4})})
    return project, project.dbt("run")


def rows(project: Project, model: str) -> dict[Any, dict[str, Any]]:
    """The rows of a table, by their identities, with the rescued text up to the file."""
    found = {}
    for row in records(project, model):
        row["rest"] = row.pop("_rescued_data", "").partition(',"_file_path"')[0]
        found[str(row.pop("id", None))] = row
    return found


def test_every_model_but_the_one_that_must_stop_is_loaded(told: tuple[Project, Run]) -> None:
    _, run = told
    failed = {name: run.message[name] for name, status in run.status.items() if status == "error"}
    told_by_names = {"told_text", "told_avro"}
    assert failed.keys() == {"failing", "mistyped", "miswritten", "keyed"} | told_by_names, failed
    assert (
        "files.schema: got \"id int\"; expected nothing with format 'text'" in failed["told_text"]
    )
    assert (
        "files.single_variant_column: got \"v\"; expected format 'json', 'csv' or 'xml'"
        in sentence(failed["told_avro"])
    )
    assert "1 new column: m.value.b in " in failed["failing"]
    assert (
        "files.schema_hints: got \"m.key int\"; expected string keys with format 'json'. Write string "
        "for the keys of the map, and cast them in the SELECT with transform_keys"
    ) in sentence(failed["keyed"])


def test_types_that_spark_does_not_have(told: tuple[Project, Run]) -> None:
    project, run = told
    wanted = {
        "mistyped": ["files.schema_hints", "`a` numba", "`b c.d` varchar(3)", "`e` decimal(3,5)"],
        "miswritten": ["files.schema", "a struct<b: char(2)>"],
    }
    for model, (setting, *wrong) in wanted.items():
        for column in wrong:
            assert (
                f'{setting}: got "{column}"; expected a column with a type of Spark. '
                "Write one such as bigint or decimal(10, 2), and string in place of char and varchar"
            ) in sentence(run.message[model])
        assert f"{len(wrong)} problem" in run.message[model]
        assert project.ledger(model, "batch_id") == []


def test_a_decimal_of_many_digits_is_not_rounded(told: tuple[Project, Run]) -> None:
    project, _ = told
    found = project.sql(
        "select id, cast(v as string), cast(w as string), to_json(l), to_json(m) "
        f"from {project.schema}.decimals where id is not null order by id"
    )
    assert [tuple(row) for row in found] == [
        (1, "1.25", "2.5000", "[1.50,null,2.00]", '{"a":1.5}'),
        (2, None, None, "[1.50,null]", None),
        (3, LONG, "100.0000", None, None),
        (4, None, None, "[null]", None),
        (6, None, None, None, None),
    ]
    assert {id: row["rest"] for id, row in rows(project, "decimals").items()} == {
        "1": "",
        "2": '{"v":1.255,"w":0.30000000000000004,"l":[1.50,1.255],"m":{"a":1.5,"b":1.25}',
        "3": "",
        "4": '{"v":"n/a","w":true,"l":[{"x":1}],"m":{"a":"q"}',
        "6": f'{{"v":99{LONG},"w":1.00001',
        "None": '{"id":"q","v":-0.005,"l":"no"',
    }


def test_texts_and_numbers_that_are_no_values_of_their_columns(told: tuple[Project, Run]) -> None:
    project, _ = told
    found = project.sql(
        "select id, cast(d as string), t, cast(at as string), cast(n as string), to_json(s), to_json(l), to_json(m) "
        f"from {project.schema}.odd order by id"
    )
    moment = "2024-01-01 08:30:00"
    assert [tuple(row) for row in found] == [
        (1, "1.5000", -128, moment, moment, '{"d":2.50,"k":1}', "[1,127]",
         '{"a":"2024-01-01T00:00:00.000Z"}'),
        (2, None, None, None, None, '{"k":1}', "[1,null]", None),
        (3, None, None, None, None, "{}", "[]", None),
        (4, None, None, None, None, None, None, None),
    ]  # fmt: skip
    assert {id: row["rest"] for id, row in rows(project, "odd").items()} == {
        "1": "",
        "2": '{"d":"1,5","t":200,"at":1704067200000,"n":"2024-01-01T08:30:00+02:00","s":{"d":"1,5"},'
        '"l":[1,200],"m":{"a":1}',
        "3": '{"d":"1.234,50","t":-129,"at":"08:30","n":2024,"s":{"d":1.255},"m":{"a":2024}',
        "4": '{"d":"null","at":1704067200',
    }


def test_numbers_of_json_that_no_double_holds(told: tuple[Project, Run]) -> None:
    project, _ = told
    found = project.sql(
        "select id, cast(x as string), cast(f as string), to_json(l), to_json(m), to_json(o) "
        f"from {project.schema}.huge order by id"
    )
    assert [tuple(row) for row in found] == [
        (1, None, "1.5", "[1.5,null]", '{"a":2.5}', '{"x":1.0}'),
        (2, "1.0E300", None, "[1.0,null]", None, "{}"),
        (3, "Infinity", None, None, None, None),
    ]
    assert {id: row["rest"] for id, row in rows(project, "huge").items()} == {
        "1": '{"x":1e400,"o":{"_metadata":{"z":2}}',
        "2": '{"f":1e39,"l":[1,-1e400],"m":{"a":1e400},"o":{"x":1e400,"y":1}',
        "3": "",
    }


def test_texts_of_csv_that_are_no_values_of_their_columns(told: tuple[Project, Run]) -> None:
    project, _ = told
    found = project.sql(
        "select id, x, cast(f as string), cast(at as string), cast(n as string) "
        f"from {project.schema}.odd_csv order by id"
    )
    moment = "2024-01-01 08:30:00"
    assert [tuple(row) for row in found] == [
        (1, 1.5, "NaN", moment, moment),
        (2, None, None, None, None),
        (3, 100.0, "-Infinity", None, "2024-01-01 00:00:00"),
        (4, None, None, None, None),
    ]
    assert {id: row["rest"] for id, row in rows(project, "odd_csv").items()} == {
        "1": "",
        "2": '{"x":"12D","f":"3f","at":"08:30","n":"2024-01-01T08:30:00Z"',
        "3": '{"at":"2024"',
        "4": '{"x":"-1e400","f":"1e39"',
    }
    types = columns(project, "odd_inferred")
    assert (types["x"], types["f"], types["at"]) == ("string", "string", "string"), types
    assert records(project, "own_bad") == [{"_corrupt_record": 5, "zip": "007"}]
    found = project.sql(f"select id, cast(d as string) from {project.schema}.german order by id")
    assert [tuple(row) for row in found] == [(1, "1234.50"), (2, None)]


@pytest.mark.parametrize("model", ["decimals_csv", "decimals_xml"])
def test_decimals_of_texts(told: tuple[Project, Run], model: str) -> None:
    project, _ = told
    found = project.sql(f"select id, cast(v as string) from {project.schema}.{model} order by id")
    more = [(5, "1.25")] if model == "decimals_csv" else []
    assert [tuple(row) for row in found] == [
        (1, "1.25"),
        (2, None),
        (3, LONG),
        (4, None),
        *more,
    ]
    left = {id: row["rest"] for id, row in rows(project, model).items() if row["rest"]}
    no_zone = "" if more else ',"n":"2024-01-01T08:30:00+02:00"'
    assert left == {"2": '{"v":"1.255"', "4": '{"v":"x"' + no_zone}


def test_marks_of_xml_within_attributes(told: tuple[Project, Run]) -> None:
    project, _ = told
    found = [(row.get("_note"), row.get("id")) for row in records(project, "xml_marks")]
    assert set(found) == {("a>b", None), ('"c"/>', None), (None, None), ("d", "1")}
    assert len(found) == 4
    assert [file for file, *_ in quarantined(project, "xml_marks")] == ["cut.xml"]


def test_arrays_and_maps_are_rescued_as_they_stand(told: tuple[Project, Run]) -> None:
    project, _ = told
    found = rows(project, "nested")
    assert {id: row["rest"] for id, row in found.items()} == {
        "1": '{"l":[{"a":1,"b":2.50},{"a":1,"b":{"x":1.10}}]',
        "2": '{"l":[{"a":1,"s":[{"d":1.50,"unit price":"7"}]}]',
        "3": "",
        "4": '{"l":[{"a":1,"b":true}]',
        "5": '{"m":{"k":{"a":1,"b":2.50},"l":{"a":2}}',
        "6": '{"m":{"k":{"a":"q"}}',
        "7": "",
        "8": '{"m":"none"',
        "9": '{"m":{"k":"none","l":{"a":1}}',
        "10": '{"l":[{"a":1.0,"b":2}]',
    }
    assert found["1"]["l"] == [{"a": 1}, {"a": 1}]
    assert found["2"]["l"] == [{"a": 1, "s": [{"d": 1.5}]}]
    assert found["3"]["m"] == {"k": {"a": 1}}
    assert found["5"]["m"] == {"k": {"a": 1}, "l": {"a": 2}}
    assert found["6"]["m"] == {"k": {}}
    assert found["7"]["m"]["k"] == {"a": 1}


def test_a_map_of_a_hint(told: tuple[Project, Run]) -> None:
    project, _ = told
    found = rows(project, "hinted")
    assert found["2"] == {"m": {"k": {"a": 1}}, "rest": '{"m":{"k":{"a":1,"b":2.50}}'}
    assert [*rows(project, "failing")] == ["1"]


def test_quotes_and_blanks_in_csv(told: tuple[Project, Run]) -> None:
    project, _ = told
    assert rows(project, "tabs") == {
        "1": {"name": "b\tc", "x": "2", "rest": ""},
        "3": {"rest": ""},
    }
    assert rows(project, "spaces")["1"]["x"] == "2"
    names = {id: row["name"] for id, row in rows(project, "blanks").items()}
    assert names == {"1": "abc", "2": "b", "3": 'c "d"'}
    assert quarantined(project, "blanks") == [("a.csv", 5, '4,"open', "a quote is not closed")]


def test_a_folder_whose_name_delta_refuses(told: tuple[Project, Run]) -> None:
    project, run = told
    assert [*columns(project, "folders")] == ["id", "day", "_rescued_data"]
    assert {id: row.get("day") for id, row in rows(project, "folders").items()} == {
        "1": None,
        "2": "3",
        "3": None,
        "4": "4",
    }
    assert (
        "folder level has a name that Delta takes with column mapping alone: my col= (left"
        in run.log
    )
    found = {id: row.get("my_col") for id, row in rows(project, "named_folders").items()}
    assert found == {"1": 1, "2": None, "3": None, "4": 2}


def test_an_avro_file_that_cannot_be_read(told: tuple[Project, Run]) -> None:
    project, _ = told
    assert [file for file, *_ in quarantined(project, "avros")] == ["0.avro"]
    assert len(records(project, "avros")) > 0
