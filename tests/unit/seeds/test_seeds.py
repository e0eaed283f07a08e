"""What becomes of a seed's values. Without Spark."""

from __future__ import annotations

from decimal import Decimal
from types import SimpleNamespace
from typing import Any

import agate
import pytest
from dbt.adapters.spark.impl import SparkAdapter

from tests.support.macros import load


def seeding(sent: list[str], **more: Any) -> SimpleNamespace:
    """The macros, which put what they send into `sent`."""
    return load(
        this="shop.days",
        config={},
        adapter=SimpleNamespace(
            convert_type=lambda table, index: SparkAdapter.convert_agate_type(table, index),
            add_query=lambda sql, abridge_sql_log: sent.append(sql),
        ),
        **{
            name: lambda **given: ""
            for name in (
                *("file_format_clause", "tblproperties_clause", "partition_cols"),
                *("clustered_cols", "location_clause", "comment_clause"),
            )
        },
        **more,
    )


def statement(columns: dict[str, list[Any]], **types: str) -> str:
    """The statement that writes a seed of these columns, some of them with types that are given."""
    sent: list[str] = []
    table = agate.Table(list(zip(*columns.values(), strict=True)), list(columns))
    seeding(sent).spark__load_csv_rows({"config": {"column_types": types}}, table)
    return sent[0]


@pytest.mark.parametrize(
    ("value", "type"),
    [
        (2**63 - 1, "bigint"),
        (-(2**63), "bigint"),
        (2**63, "decimal(38, 0)"),
        (-(2**63) - 1, "decimal(38, 0)"),
    ],
)
def test_a_whole_number_has_a_type_that_holds_it(value: int, type: str) -> None:
    sql = statement({"n": [Decimal(1), None, Decimal(value)]})
    assert f"then cast(c0 as {type}) else" in sql
    assert str(value) in sql


def test_a_value_that_its_type_cannot_hold_stops_the_seed() -> None:
    """Without ANSI mode the cast would be a NULL, or cut something off. A text goes as it is."""
    sql = statement(
        {"id": ["3000000000"], "name": ["x"], "code": ["y"]}, id="int", code="varchar(9)"
    )
    assert (
        "select case when c0 is null or cast(c0 as int) is not null and not c0 rlike '[.][0-9]*[1-9]' "
        "then cast(c0 as int) else raise_error(concat("
        "'the column `id` of the seed shop.days is int and cannot hold: ', c0, "
        "'. Correct the value, or name another type in column_types')) end as `id`, "
        "cast(c1 as string) as `name`, case when c2 is null or char_length(c2) <= 9 then cast(c2 as varchar(9)) else "
    ) in sql


@pytest.mark.parametrize(
    ("values", "type"),
    [
        (["0.5", "1"], "double"),
        (["0.5", "9007199254740993"], "decimal(38, 1)"),
        (["0.25", "-12345678901234567.5"], "decimal(38, 2)"),
        # Nobody counts on the last digits of a fraction, nor writes them all of a measure.
        (["0.12345678901234567890", "7"], "double"),
        (["0.5", "6.02e23"], "double"),
        (["0.5", "9007199254740994"], "double"),
        (["0.5", "NaN", "-Infinity", "1e400"], "double"),
        (["1e-30", "9007199254740993"], "double"),
    ],
)
def test_numbers_with_a_fraction_are_decimals_where_a_double_is_another_number(
    values: list[str], type: str
) -> None:
    assert f"then cast(c0 as {type}) else" in statement({"n": [None, *map(Decimal, values)]})


def test_a_seed_without_rows_makes_its_table_itself() -> None:
    """dbt has it loaded only where there are rows. What no value tells, the table of before does."""
    model: dict[str, Any] = {"config": {"column_types": {"price": "decimal(10,2)"}}}
    empty = agate.Table([], ["id", "Day", "price"], [agate.Number(), agate.Number(), agate.Text()])
    for cached, day in ((None, "bigint"), ("shop.days", "date")):
        sent: list[str] = []
        floodmark = seeding(sent, load_relation=lambda this, found=cached: found)
        floodmark._columns_of = lambda relation: [
            {"name": "day", "type": "date", "ddl": "date"},
            {"name": "price", "type": "string", "ddl": "string"},
        ]
        if cached:
            floodmark.spark__reset_csv_table(model, False, None, empty)
        else:
            floodmark.spark__create_csv_table(model, empty)
        assert len(sent) == 1
        assert "inline(from_json('[]'," in sent[0]
        for cast in ("cast(c0 as bigint)", f"cast(c1 as {day})", "cast(c2 as decimal(10,2))"):
            assert cast in sent[0]


def test_a_seed_with_rows_is_written_once() -> None:
    sent: list[str] = []
    floodmark, full = seeding(sent), agate.Table([[1]], ["id"])
    assert floodmark.spark__create_csv_table({"config": {}}, full) == ""
    assert floodmark.spark__reset_csv_table({"config": {}}, False, None, full) == ""
    assert sent == []
