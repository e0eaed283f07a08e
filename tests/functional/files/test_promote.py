"""FILES.md, "Rescued data": `floodmark rescue promote` fills a column and takes the key out."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.commands import command
from tests.support.faults import Faults, injected
from tests.support.files import columns, land, lines, loader, records, rescued
from tests.support.harness import Project
from tests.support.rows import held

pytestmark = [pytest.mark.edge, pytest.mark.long("session")]

#: Numbers as writers write them, which no other key's promotion may change.
EXACT = '"big":123456789012345678901234567890,"price":1.10,"e":1E2,"say":"a \\"b\\" \\u00fc","deep":{"x":[1.50,null]}'
RECORDS = [
    f'{{"id":1,"n":7,{EXACT}}}',
    '{"id":2,"n":"8"}',
    '{"id":3,"n":"seven"}',
    '{"id":4,"n":3000000000}',
    '{"id":5,"n":1.5,"ok":true}',
    '{"id":6}',
    '{"id":7,"deep":{"n":4},"n":5,"nn":{"n":6}}',
    '{"id":8,"deep":{"n":4},"say":",\\"n\\":1"}',
    '{"id":"q","n":9}',
    '{"id":9,"amount":1234567890123456.78,"rate":1.10,"obj":{"a":1.10,"b":"\\u00fc"},"huge":123456789012345678901.25}',
    '{"id":10,"amount":"1.10","rate":-0.00,"obj":[1.0,{}],"huge":123456789012345678901.255}',
    '{"id":11,"amount":1E2,"rate":true,"obj":"{}","huge":"1234567890123456789012345678901234567.5"}',
    '{"id":12,"huge":12345678901234567890123456789012345.75}',
]

#: Of these Spark's reader would make other values.
ODD = [
    '{"id":1,"at":1704067200000,"b":200,"d":"1,5","f":1e39}',
    '{"id":2,"at":"08:30"}',
    '{"id":3,"at":"2024"}',
    '{"id":4,"at":"2024-05-01 08:00:00","b":"7","d":"1.5","f":2.5}',
]

#: The key of events.
X = {"k": "x"}


def history(schema: str = "k string, seq int", **settings: Any) -> str:
    """A model of cdc with SCD 2 over the events."""
    cdc = {"sequence_by": "seq", "stored_as_scd_type": 2, "except_column_list": ["seq"]} | settings
    config = {"incremental_strategy": "cdc", "unique_key": "k", "cdc": cdc}
    return loader("events", config=config, format="json", schema=schema, schema_evolution="rescue")


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("promote")
    land(project.root / "in", {"a.json": "".join(line + "\n" for line in RECORDS)})
    land(
        project.root / "late",
        {"1.json": '{"id":0}\n', "2.json": "".join(line + "\n" for line in RECORDS)},
    )
    os.utime(project.root / "late/1.json", (1e9, 1e9))
    land(project.root / "csv", {"a.csv": "id,n,day\n1,5,2024-05-01\n2,x,2024-05-02 10:00\n"})
    given = {"schema": "id int, kept string", "schema_evolution": "rescue"}
    project.model("given", loader("in", format="json", **given))
    project.model("csv", loader("csv", schema="id int", schema_evolution="rescue", format="csv"))
    # The first batch knows no column but id, and later ones add none.
    one = {"max_files_per_batch": 1, "infer_column_types": True, "schema_evolution": "rescue"}
    project.model("typed", loader("late", **one))
    project.model("bare", loader("in", "id", format="json", **given))
    land(project.root / "odd", {"a.json": "".join(line + "\n" for line in ODD)})
    project.model("odd", loader("odd", format="json", **given))
    land(
        project.root / "events", {"1.json": lines(*(X | {"seq": seq, "n": 1} for seq in (10, 20)))}
    )
    project.model("history", history())
    project.model("partial", history(ignore_null_updates=True))
    project.model("partial_latest", history(ignore_null_updates=True, stored_as_scd_type=1))
    project.model("plain", loader("in", format="json", schema="id int"))
    project.build()
    return project


def promote(project: Project, *args: str) -> str:
    code, output = command(project, "rescue", "promote", *args)
    assert code == 0, output
    return output


def texts(project: Project, model: str) -> dict[int, str]:
    """The rescued data of each row, as it stands there."""
    return dict(project.sql(f"select coalesce(id, 0), _rescued_data from {project.schema}.{model}"))


def test_a_key_becomes_a_column(project: Project) -> None:
    before = texts(project, "given")
    version = project.version("given")
    said = promote(project, "given", "n", "--type", "INT")
    assert (
        f"Filled 'n' of {project.schema}.given in 4 rows (3 values do not fit int, such as \"seven\")."
        in said
    )
    assert 'To load it from now on, add "n int" to files.schema.' in said
    assert columns(project, "given")["n"] == "int"
    # The column, and the one commit that fills it.
    assert project.version("given") == version + 2
    found = {row.get("id", 0): row.get("n") for row in records(project, "given")}
    assert found == {0: 9, 1: 7, 2: 8, 7: 5, **dict.fromkeys((3, 4, 5, 6, 8, 9, 10, 11, 12))}
    after = texts(project, "given")
    assert after[1] == before[1].replace('"n":7,', "")
    for text in ('"big":123456789012345678901234567890', '"price":1.10', '"e":1E2', "[1.50,null]"):
        assert text in after[1]
    assert after[2] is None
    assert after[6] is None
    assert {key: after[key] for key in (3, 4, 5, 8)} == {key: before[key] for key in (3, 4, 5, 8)}
    assert after[7] == before[7].replace('"n":5,', "")
    assert after[0] == before[0].replace('"n":9,', "")
    assert after[1].rindex('"_file_path"') > after[1].rindex('"deep"')


def test_again_it_finds_nothing_more(project: Project) -> None:
    version, before = project.version("given"), project.rows("given")
    said = promote(project, "given", "n")
    assert f"Filled 'n' of {project.schema}.given in 0 rows (3 values do not fit int" in said
    assert (project.version("given"), project.rows("given")) == (version, before)


def test_types_lose_nothing(project: Project) -> None:
    said = promote(project, "given", "price", "--type", "decimal(3, 1)")
    assert "in 1 row." in said
    said = promote(project, "given", "big", "--type", "double")
    assert "in 1 row." in said
    said = promote(project, "given", "deep", "--type", "struct<x: array<int>>")
    assert "in 0 rows (3 values do not fit struct<x:array<int>>" in said
    said = promote(project, "given", "deep", "--type", "variant")
    assert "in 3 rows." in said
    said = promote(project, "given", "say")
    assert "in 2 rows." in said
    [row] = [row for row in records(project, "given") if row.get("id") == 1]
    assert row["say"] == 'a "b" ü'
    assert rescued(row) == {"e": 100.0, "_file_path": "a.json"}


def test_texts_are_what_stands_in_the_file(project: Project) -> None:
    for key in ("amount", "rate", "obj"):
        assert "in 3 rows." in promote(project, "given", key)
    said = promote(project, "given", "huge", "--type", "decimal(38, 2)")
    assert "in 2 rows (2 values do not fit decimal(38,2), such as " in said
    found = project.sql(
        "select id, amount, rate, obj, cast(huge as string), _rescued_data "
        f"from {project.schema}.given where id > 8 order by id"
    )
    assert [row[:5] for row in found] == [
        (9, "1234567890123456.78", "1.10", '{"a":1.10,"b":"\\u00fc"}', "123456789012345678901.25"),
        (10, "1.10", "-0.00", "[1.0,{}]", None),
        (11, "1E2", "true", "{}", None),
        (12, None, None, None, "12345678901234567890123456789012345.75"),
    ]
    left = {key: text for key, *_, text in found}
    assert left[9] is None and left[12] is None
    assert left[10].startswith('{"huge":123456789012345678901.255,"_file_path":')
    assert left[11].startswith('{"huge":"1234567890123456789012345678901234567.5","_file_path":')


def test_what_would_become_another_value_stays_rescued(project: Project) -> None:
    types = {"at": "timestamp", "b": "tinyint", "d": "decimal(10, 2)", "f": "float"}
    for key, type in types.items():
        assert "in 1 row (" in promote(project, "odd", key, "--type", type)
    found = {row["id"]: row for row in records(project, "odd")}
    assert found[4] == {"id": 4, "at": "2024-05-01T08:00:00.000Z", "b": 7, "d": 1.5, "f": 2.5}
    kept = {"at": 1704067200000, "b": 200, "d": "1,5", "f": 1e39, "_file_path": "a.json"}
    assert rescued(found.pop(1)) == kept
    assert not any("at" in row for id, row in found.items() if id != 4)


def test_texts_of_csv_become_numbers_and_days(project: Project) -> None:
    assert "in 1 row (1 value does not fit bigint" in promote(
        project, "csv", "n", "--type", "bigint"
    )
    assert "in 1 row (1 value does not fit date" in promote(project, "csv", "day", "--type", "date")
    found = {row["id"]: (row.get("n"), row.get("day")) for row in records(project, "csv")}
    assert found == {1: (5, "2024-05-01"), 2: (None, None)}


def test_without_a_type_it_is_that_of_the_values(project: Project) -> None:
    promote(project, "typed", "ok")
    assert columns(project, "typed")["ok"] == "boolean"
    said = promote(project, "typed", "id")
    assert "in 0 rows (1 value does not fit bigint" in said


def test_events_beside_the_table_are_filled(project: Project) -> None:
    """Two events made one row, and the first of them is remembered: late events make no row of it that never was.

    The command dies ahead of the first statement that fills, between the two that do, and ahead of the other.
    """
    table, rows = project.version("history"), project.rows("history")
    for cut, version in (
        (r"before: update \S+__cdc_state", table),
        (r"after: update \S+__cdc_state", table),
        (r"before: update \S+history`? set", table + 1),
    ):
        with injected(Faults(cuts={"promote_rescued": cut})):
            code, output = command(project, "rescue", "promote", "history", "n", "--type", "int")
        assert code == 1 and "cut before statement" in " ".join(output.split())
        assert project.version("history") == version, cut
        assert project.rows("history") == rows, cut
    assert "in 1 row." in promote(project, "history", "n", "--type", "int")
    remembered = project.sql(f"select n, _rescued_data from {project.schema}.history__cdc_state")
    assert remembered == [(1, None)]
    project.model("history", history("k string, seq int, n int"))
    late = [X | {"seq": 12, "n": 1}, X | {"seq": 15, "n": 2}]
    land(project.root / "events", {"2.json": lines(*late)})
    project.build("--select", "history")
    rows = held(project, "history", "k, __start_at, __end_at, n, _rescued_data")
    assert rows == {"x": [(10, 15, 1, None), (15, 20, 2, None), (20, None, 1, None)]}


def test_what_is_rescued(project: Project) -> None:
    code, output = command(project, "rescue", "show", "typed", "--json")
    assert code == 0, output
    keys = {
        row["key"]: (row["rows"], row["types"], row["example"])
        for row in json.loads(output)["keys"]
    }
    assert keys["n"] == (7, "bigint, decimal(2,1), string", '"8"')
    assert keys["price"][0] == 1
    code, output = command(project, "rescue", "show", "typed")
    assert "seven" not in output
    assert "price" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("plain", "n"), "it rescues nothing: files.rescued_data_column names the column for that"),
        (("bare", "n"), "its table has no column _rescued_data: let the SELECT keep it"),
        (
            ("given", "n", "--type", "bigint"),
            "its column 'n' is int, not bigint: leave the type out",
        ),
        (("given", "zz", "--type", "no such"), "'no such' is not a type of Spark"),
        (
            ("partial", "n"),
            "each value needs the event that set it, which rescued data does not tell",
        ),
        (
            ("partial_latest", "n"),
            "each value needs the event that set it, which rescued data does not tell",
        ),
        (
            ("given", "_file_path"),
            "'_file_path' cannot come from rescued data: `floodmark rescue show` lists its keys",
        ),
    ],
)
def test_what_cannot_be_promoted(
    project: Project, arguments: tuple[str, ...], message: str
) -> None:
    code, output = command(project, "rescue", "promote", *arguments)
    assert code == 1
    assert message in output


def test_a_key_that_no_row_has(project: Project) -> None:
    said = promote(project, "given", "nothing")
    assert f"No row of {project.schema}.given has 'nothing' in _rescued_data." in said
    assert "nothing" not in columns(project, "given")
