"""FILES.md, "One batch, one schema" and "Rescued data": new columns, values that do not fit, and what is kept of them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.files import columns, land, lines, loader, quarantined, records, rescued
from tests.support.harness import Project, Run

pytestmark = [pytest.mark.edge, pytest.mark.long("session")]

#: The table of FILES.md: a line; id, name and s of its row; what is rescued of it, `_file_path` aside.
GIVEN = "id INT, name STRING, s STRUCT<b: STRING>"
TABLE = [
    ('{"id":1,"name":"a"}', {"id": 1, "name": "a"}, None),
    ('{"id":1,"name":"a","x":true}', {"id": 1, "name": "a"}, '{"x":true'),
    ('{"id":"q","name":"a"}', {"name": "a"}, '{"id":"q"'),
    ('{"id":1,"Name":"a"}', {"id": 1}, '{"Name":"a"'),
    ('{"id":3000000000}', {}, '{"id":3000000000'),
    (
        '{"id":1,"name":"a","s":{"b":"y","c":1}}',
        {"id": 1, "name": "a", "s": {"b": "y"}},
        '{"s":{"c":1}',
    ),
    # Values as they stand in the file.
    ('{"id":2,"x":1.50}', {"id": 2}, '{"x":1.50'),
    ('{"id":1.50,"name":"a"}', {"name": "a"}, '{"id":1.50'),
    (
        '{"id":2,"x":12345678901234567890123456789012345678901234567890.10}',
        {"id": 2},
        '{"x":12345678901234567890123456789012345678901234567890.10',
    ),
    ('{"id":3,"x":"1.50"}', {"id": 3}, '{"x":"1.50"'),
    ('{"id":3,"x":[1.50,"\\"q\\\\"]}', {"id": 3}, '{"x":[1.50,"\\"q\\\\"]'),
    ('{"id":4,"s":7}', {"id": 4}, '{"s":7'),
    ('{"id":5,"x":null}', {"id": 5}, None),
    ('{"id":6,"od\\"d `k.y":1}', {"id": 6}, '{"od\\"d `k.y":1'),
    ('{"id":7,"name":{"a": 1.50}}', {"id": 7, "name": '{"a": 1.50}'}, None),
    ('{"id":8,"ü":"é😀"}', {"id": 8}, '{"ü":"é😀"'),
]
DAY_1 = {
    "one.json": lines(
        {"id": 1, "amount": 5, "customer": {"name": "a"}, "tags": [1]},
        {"id": 2, "amount": 6, "customer": {"name": "b"}, "tags": []},
    )
}
DAY_2 = {
    "two.json": lines(
        {"id": 3, "amount": 12.34, "customer": {"name": "c", "zip": "z"}, "tags": [2]},
        {"id": 4, "amount": "x", "extra": {"deep": True}, "Amount": 9, "tags": ["y"]},
        "not JSON",
    )
}
HINTS = (
    "amount decimal(10, 2), customer.zip string, CUSTOMER_ID bigint, tags array<int>, later.on date"
)
MODELS = {
    "added": loader("in", infer_column_types=True),
    "texts": loader("in"),
    "widened": loader("in", infer_column_types=True, schema_evolution="widen"),
    "kept": loader("in", infer_column_types=True, schema_evolution="rescue"),
    "failing": loader("in", infer_column_types=True, schema_evolution="fail"),
    "none": loader("in", infer_column_types=True, schema_evolution="none"),
    "plain": loader("in", format="json", schema="id bigint, amount bigint"),
    "hinted": loader("in", schema_hints=HINTS),
    "alike": loader(
        "in",
        format="json",
        schema="ID bigint, AMOUNT double, extra struct<DEEP: boolean>",
        case_sensitive=False,
        schema_evolution="rescue",
    ),
    "named": loader("in", infer_column_types=True, rescued_data_column="`rest`"),
    "silent": loader("in", rescued_data_column=False),
    "tabled": loader("table", format="json", schema=GIVEN, rescued_data_column="_rescued_data"),
    "merged": loader(
        "in", infer_column_types=True, config={"incremental_strategy": "merge", "unique_key": "id"}
    ),
}


@dataclass
class Story:
    project: Project
    runs: list[Run] = field(default_factory=list)
    schemas: list[dict[str, dict[str, str]]] = field(default_factory=list)

    def run(self) -> None:
        self.runs.append(self.project.dbt("run"))
        wrong = {name for name, status in self.runs[-1].status.items() if status != "success"}
        assert wrong <= {"failing"}, self.runs[-1].log[-6000:]
        self.schemas.append({name: columns(self.project, name) for name in MODELS})

    def rows(self, model: str) -> dict[int, dict[str, Any]]:
        """The rows of a model by their id, without what is rescued."""
        return {
            int(row.get("id", row.get("ID"))): {
                name: value
                for name, value in row.items()
                if name not in ("id", "ID", "_rescued_data")
            }
            for row in records(self.project, model)
        }

    def rescued(self, model: str) -> dict[int, Any]:
        """What is rescued in the rows of a model, by their id."""
        return {
            int(row.get("id", row.get("ID"))): rescued(row) for row in records(self.project, model)
        }


@pytest.fixture(scope="module")
def story(make_project: Callable[..., Project]) -> Story:
    project = make_project("rescued")
    land(project.root / "table", {"t.json": lines(*(line for line, _, _ in TABLE), "not JSON")})
    for name, sql in MODELS.items():
        project.model(name, sql)
    land(project.root / "in", DAY_1)
    story = Story(project)
    story.run()
    land(project.root / "in", DAY_2)
    story.run()
    return story


@pytest.mark.parametrize("number", range(len(TABLE)))
def test_the_table_of_rescued_data(story: Story, number: int) -> None:
    found = story.project.sql(
        f"select to_json(struct(id, name, s)), _rescued_data from {story.project.schema}.tabled"
    )
    file = json.dumps(f"file:{story.project.root}/table/t.json")
    _, kept, wanted = TABLE[number]
    text = None if wanted is None else f'{wanted},"_file_path":{file}}}'
    assert (kept, text) in [(json.loads(row), rest) for row, rest in found]


def test_each_line_is_loaded_or_quarantined(story: Story) -> None:
    [(rows,)] = story.project.sql(f"select count(*) from {story.project.schema}.tabled")
    assert rows == len(TABLE)
    assert quarantined(story.project, "tabled") == [
        ("t.json", len(TABLE) + 1, "not JSON", "not a JSON object")
    ]
    [counts] = story.project.ledger(
        "tabled", "rows_read, rows_kept, rows_dropped, rows_quarantined"
    )
    assert list(counts) == [len(TABLE) + 1, len(TABLE), 0, 1]


def test_a_new_column_is_added_last_and_the_same_run_goes_on(story: Story) -> None:
    first, second = (schemas["added"] for schemas in story.schemas)
    assert first == {
        "amount": "bigint",
        "customer": "struct<name:string>",
        "id": "bigint",
        "tags": "array<bigint>",
        "_rescued_data": "string",
    }
    assert list(second) == [*first, "extra"]
    assert second["customer"] == "struct<name:string,zip:string>"
    assert second["extra"] == "struct<deep:boolean>"
    assert story.rows("added")[3] == {"customer": {"name": "c", "zip": "z"}, "tags": [2]}
    assert story.rows("added")[4] == {"extra": {"deep": True}}


def test_a_value_that_does_not_fit_is_null_and_rescued(story: Story) -> None:
    file = "two.json"
    assert story.rescued("added") == {
        1: None,
        2: None,
        3: {"amount": 12.34, "_file_path": file},
        4: {"amount": "x", "Amount": 9, "tags": ["y"], "_file_path": file},
    }


def test_without_types_every_value_is_a_text(story: Story) -> None:
    assert story.schemas[1]["texts"] == {
        "amount": "string",
        "customer": "struct<name:string,zip:string>",
        "id": "string",
        "tags": "array<string>",
        "_rescued_data": "string",
        "extra": "struct<deep:string>",
    }
    assert story.rows("texts")[3]["amount"] == "12.34"
    assert story.rescued("texts")[4] == {"Amount": 9, "_file_path": "two.json"}


def test_a_column_is_widened_where_the_list_allows(story: Story) -> None:
    assert story.schemas[1]["widened"]["amount"] == "decimal(22,2)"
    assert {id: row.get("amount") for id, row in story.rows("widened").items()} == {
        1: 5.0,
        2: 6.0,
        3: 12.34,
        4: None,
    }
    assert story.rescued("widened")[4] == {
        "amount": "x",
        "Amount": 9,
        "tags": ["y"],
        "_file_path": "two.json",
    }


def test_rescue_adds_no_column(story: Story) -> None:
    assert story.schemas[1]["kept"] == story.schemas[0]["kept"]
    assert story.rescued("kept")[3] == {
        "amount": 12.34,
        "customer": {"zip": "z"},
        "_file_path": "two.json",
    }
    assert story.rescued("kept")[4] == {
        "amount": "x",
        "extra": {"deep": True},
        "Amount": 9,
        "tags": ["y"],
        "_file_path": "two.json",
    }


def test_fail_loads_nothing_and_names_columns_and_files(story: Story) -> None:
    assert story.runs[1].status["failing"] == "error"
    message = story.runs[1].message["failing"]
    assert "2 new columns: customer.zip in file:" in message
    assert "extra in file:" in message
    assert "files.schema_evolution is 'fail', so nothing was loaded" in message
    assert sorted(story.rows("failing")) == [1, 2]


def test_none_ignores_new_columns(story: Story) -> None:
    assert story.schemas[1]["none"] == story.schemas[0]["none"]
    assert story.schemas[1]["plain"] == {"id": "bigint", "amount": "bigint"}
    assert story.rows("plain") == {1: {"amount": 5}, 2: {"amount": 6}, 3: {}, 4: {}}


def test_hints_decide_types_and_spelling(story: Story) -> None:
    assert story.schemas[0]["hinted"] == {
        "amount": "decimal(10,2)",
        "customer": "struct<name:string,zip:string>",
        "id": "string",
        "tags": "array<int>",
        "CUSTOMER_ID": "bigint",
        "later": "struct<on:date>",
        "_rescued_data": "string",
    }
    assert story.rows("hinted")[3] == {
        "amount": 12.34,
        "customer": {"name": "c", "zip": "z"},
        "tags": [2],
    }
    assert story.rescued("hinted")[4] == {
        "amount": "x",
        "Amount": 9,
        "tags": ["y"],
        "_file_path": "two.json",
    }


def test_names_that_differ_in_case_alone_are_one_column(story: Story) -> None:
    rows = story.rows("alike")
    assert rows[1] == {"AMOUNT": 5.0}
    assert rows[3] == {"AMOUNT": 12.34}
    # Both spellings are in the record; the other one fits.
    assert rows[4] == {"AMOUNT": 9.0, "extra": {"DEEP": True}}
    assert story.rescued("alike")[3] == {
        "customer": {"name": "c", "zip": "z"},
        "tags": [2],
        "_file_path": "two.json",
    }


def test_the_rescued_column_has_the_name_that_is_asked_for(story: Story) -> None:
    assert "rest" in story.schemas[0]["named"]
    assert "_rescued_data" not in story.schemas[0]["named"]
    assert not {"_rescued_data", "rest"} & story.schemas[1]["silent"].keys()


def test_merge_evolves_too(story: Story) -> None:
    assert story.schemas[1]["merged"] == story.schemas[1]["added"]
    assert story.rows("merged") == story.rows("added")


def test_the_ledger_keeps_every_schema(story: Story) -> None:
    found = story.project.sql(
        f"select version, batch_id, schema, added from {story.project.schema}_floodmark.file_schemas "
        f"where model = '{story.project.schema}.added' order by batch_id"
    )
    assert [tuple(row) for row in found] == [
        (
            1,
            1,
            "struct<amount:bigint,customer:struct<name:string>,id:bigint,tags:array<bigint>>",
            "[]",
        ),
        (
            2,
            2,
            "struct<amount:bigint,customer:struct<name:string,zip:string>,id:bigint,"
            "tags:array<bigint>,extra:struct<deep:boolean>>",
            '[["customer","zip"],["extra"]]',
        ),
    ]


def test_the_ledger_counts_what_each_file_gave(story: Story) -> None:
    found = story.project.ledger(
        "added", "path, state, rows, rows_rescued, rows_quarantined, reason", "files"
    )
    assert [(path.rpartition("/")[2], *rest) for path, *rest in found] == [
        ("one.json", "committed", 2, 0, 0, None),
        ("two.json", "committed", 2, 2, 1, "not a JSON object"),
    ]
