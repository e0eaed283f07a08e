"""`floodmark init --files`: from folders of which nobody knows anything to tables with types, and nothing lost."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Callable

import pytest
from click.testing import CliRunner

from dbt_floodmark.cli import main
from tests.support.files import columns, land, lines, quarantined, records, rescued
from tests.support.harness import Project, working_directory

pytestmark = [pytest.mark.long("session"), pytest.mark.edge]

FOLDERS = {
    # Other columns and another order in each file, quotes, an empty value.
    "orders": {
        "jan.csv": 'order_id,customer,amount,paid\n1,"Smith, ""Jo""",12.50,true\n2,Ann,,false\n',
        "feb.csv": "paid,order_id,customer,amount,coupon\ntrue,3,Kim,3.75,SPRING\n",
    },
    # Semicolons, a name with a space, commas in numbers, zeros in front, a day.
    "customers": {
        "crm.csv": "Customer No;Name;Revenue;Since\n00017;Muller, Sons;1234,50;2024-01-31\n18;Weber;99,00;2024-02-29\n",
    },
    "events": {
        "a.jsonl": lines({"id": 1, "user": {"id": 7}, "items": [{"sku": "A", "qty": 2}]}),
        "b.jsonl": lines(
            {"id": 2, "user": None, "items": [{"sku": "B", "qty": 1, "off": {"percent": 10}}]},
            {"id": 3, "items": [], "at": "2026-01-01"},
        ),
    },
    # Times, what looks like them, and a time that one record has not.
    "moments": {
        "m.jsonl": lines(
            {
                "id": 1,
                "at": "2026-01-01T10:00:00Z",
                "pin": "560001",
                "when": "2024-05-01",
                "year": "2024",
            },
            {
                "id": 2,
                "at": "2026-01-01 12:30:00.5+02:00",
                "pin": "110001",
                "when": "soon",
                "year": "2025",
            },
            {"id": 3, "at": None, "day": "2024-02-29", "odd": "2024-02-30"},
        ),
    },
    # One array over several lines.
    "export": {"all.json": json.dumps([{"k": 1, "v": "a"}, {"k": 2, "v": "b"}], indent=2)},
    # Latin-1, in the header too; folders that are columns.
    "latin": {"day=2024-05-01/l.csv": "Straße;Ort\nHauptstr. 1;Köln\n".encode("latin-1")},
    "tabs": {"t.tsv": "a\tb\n1\tx, y\n"},
    # Beside a file that is cut off, and one that Spark does not unpack.
    "sent": {
        "a.csv": "id,name\n1,Zoé\n",
        "b.csv.xz": lzma.compress("id,name\n2,é\n".encode()),
        "c.csv.gz": gzip.compress(b"id,name\n" + bytes(range(256)) * 99)[:-40],
    },
    "sent_json": {
        "a.json": lines({"id": 1, "day": "2024-05-01"}),
        "b.json.gz": gzip.compress(bytes(range(256)) * 99)[:-40],
    },
    # Names within a column that Delta refuses.
    "users": {"u.jsonl": lines({"id": 1, "user": {"first name": "a", "age": 2}, "m": {"x y": 1}})},
    # Beside an element that is no record, in the encoding that the file declares.
    "feed": {
        "a.xml": (
            '<?xml version="1.0" encoding="ISO-8859-1"?><feed><head><by>x</by></head>'
            "<row no='1'><name>é</name></row><row no='2'><name>b</name></row></feed>"
        ).encode("latin-1"),
    },
    # Names within a column that Delta refuses, of a format that has types.
    "parquet": {},
}


@pytest.fixture(scope="module")
def said(make_project: Callable[..., Project]) -> tuple[Project, dict[str, str]]:
    """A model for each folder, written from the folder above the project, and one build."""
    project = make_project("init_files")
    around = project.root.parent / f"around_{project.root.name}"
    for name, files in FOLDERS.items():
        land(around / name, files)
    project.sql(
        f"insert overwrite directory '{around}/parquet' using parquet select 1 as id, 2.50BD as "
        "`order id`, named_struct('a b', 1, 'c', 2) as s"
    )
    said = {}
    root = str(project.root)
    for name in FOLDERS:
        with working_directory(around):
            result = CliRunner().invoke(
                main,
                ["init", "--files", name, "--project-dir", root, "--profiles-dir", root],
                catch_exceptions=False,
            )
        assert result.exit_code == 0, result.output
        said[name] = result.output
    project.build()
    return project, said


def test_types_are_those_of_the_values(said: tuple[Project, dict[str, str]]) -> None:
    project, _ = said
    own = {"_rescued_data": "string", "source_file": "string", "loaded_at": "timestamp"}
    assert columns(project, "bronze_orders") == own | {
        "order_id": "int",
        "customer": "string",
        "amount": "double",
        "paid": "boolean",
        "coupon": "string",
    }
    assert columns(project, "bronze_customers") == own | {
        "customer_no": "string",
        "Name": "string",
        "Revenue": "string",
        "Since": "date",
    }
    assert columns(project, "bronze_events") == own | {
        "id": "bigint",
        "user": "struct<id:bigint>",
        "items": "array<struct<off:struct<percent:bigint>,qty:bigint,sku:string>>",
        "at": "date",
    }
    assert columns(project, "bronze_moments") == own | {
        "id": "bigint",
        "at": "timestamp",
        "day": "date",
        "pin": "string",
        "when": "string",
        "year": "string",
        "odd": "string",
    }
    assert columns(project, "bronze_export") == own | {"k": "bigint", "v": "string"}
    assert columns(project, "bronze_latin") == own | {
        "Straße": "string",
        "Ort": "string",
        "day": "date",
    }
    assert columns(project, "bronze_tabs") == own | {"a": "int", "b": "string"}
    assert columns(project, "bronze_users") == own | {"id": "bigint", "user": "struct<age:bigint>"}
    assert columns(project, "bronze_feed") == own | {"_no": "bigint", "name": "string"}
    assert columns(project, "bronze_parquet") == own | {
        "id": "int",
        "order_id": "decimal(3,2)",
        "s": "struct<c:int>",
    }


def test_every_value_is_there(said: tuple[Project, dict[str, str]]) -> None:
    project, _ = said
    found = {
        name: [
            {k: v for k, v in row.items() if k not in ("source_file", "loaded_at")}
            for row in records(project, f"bronze_{name}", order)
        ]
        for name, order in (
            ("orders", "order_id"),
            ("customers", "customer_no"),
            ("events", "id"),
            ("moments", "id"),
            ("export", "k"),
            ("latin", "Ort"),
            ("tabs", "a"),
            ("sent", "id"),
            ("sent_json", "id"),
            ("feed", "_no"),
        )
    }
    assert found == {
        "orders": [
            {"order_id": 1, "customer": 'Smith, "Jo"', "amount": 12.5, "paid": True},
            {"order_id": 2, "customer": "Ann", "paid": False},
            {"order_id": 3, "customer": "Kim", "amount": 3.75, "paid": True, "coupon": "SPRING"},
        ],
        "customers": [
            {
                "customer_no": "00017",
                "Name": "Muller, Sons",
                "Revenue": "1234,50",
                "Since": "2024-01-31",
            },
            {"customer_no": "18", "Name": "Weber", "Revenue": "99,00", "Since": "2024-02-29"},
        ],
        "events": [
            {"id": 1, "user": {"id": 7}, "items": [{"sku": "A", "qty": 2}]},
            {"id": 2, "items": [{"sku": "B", "qty": 1, "off": {"percent": 10}}]},
            {"id": 3, "items": [], "at": "2026-01-01"},
        ],
        "moments": [
            {
                "id": 1,
                "at": "2026-01-01T10:00:00.000Z",
                "pin": "560001",
                "when": "2024-05-01",
                "year": "2024",
            },
            {
                "id": 2,
                "at": "2026-01-01T10:30:00.500Z",
                "pin": "110001",
                "when": "soon",
                "year": "2025",
            },
            {"id": 3, "day": "2024-02-29", "odd": "2024-02-30"},
        ],
        "export": [{"k": 1, "v": "a"}, {"k": 2, "v": "b"}],
        "latin": [{"Straße": "Hauptstr. 1", "Ort": "Köln", "day": "2024-05-01"}],
        "tabs": [{"a": 1, "b": "x, y"}],
        "sent": [{"id": 1, "name": "Zoé"}],
        "sent_json": [{"id": 1, "day": "2024-05-01"}],
        "feed": [{"_no": 1, "name": "é"}, {"_no": 2, "name": "b"}],
    }
    files = [file for file, *_ in quarantined(project, "bronze_sent")]
    assert files == ["b.csv.xz", "c.csv.gz"]
    assert [rescued(row) for row in records(project, "bronze_orders", "order_id")] == [None] * 3
    [user] = records(project, "bronze_users")
    assert rescued(user) == {
        "user": {"first name": "a"},
        "m": {"x y": 1},
        "_file_path": "u.jsonl",
    }
    [order] = records(project, "bronze_parquet")
    assert order["order_id"] == 2.5 and (rescued(order) or {})["s"] == {"a b": 1}


def test_it_says_what_it_found(said: tuple[Project, dict[str, str]]) -> None:
    project, answers = said
    assert "It loads 2 files (132 bytes) of csv: 5 columns." in answers["orders"]
    assert "of csv, sep ';': 4 columns." in answers["customers"]
    assert (
        "of csv, sep ';', encoding 'ISO-8859-1': 3 columns, 1 of them from folders."
        in (answers["latin"])
    )
    assert "of json, multiLine True: 2 columns." in answers["export"]
    assert "of csv: 2 columns." in answers["sent"]
    assert "of xml, rowTag 'row': 2 columns." in answers["feed"]
    assert (
        f"floodmark build --select bronze_orders --project-dir ../{project.root.name}"
        in answers["orders"]
    )
