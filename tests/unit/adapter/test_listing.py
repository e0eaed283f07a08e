"""What is believed of a list of tables that is empty."""

from types import SimpleNamespace

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt_floodmark.adapter.listing import TRIES, list_whole

SCHEMA = SimpleNamespace(schema="shop")


class Adapter:
    """Answers listings and `show tables` as told."""

    def __init__(self, listings, tables):
        self.listings, self.tables, self.listed = listings, tables, 0

    def list_relations(self, schema_relation):
        self.listed += 1
        return self.listings[min(self.listed, len(self.listings)) - 1]

    def execute_macro(self, name, kwargs):
        if isinstance(self.tables, Exception):
            raise self.tables
        return self.tables


def listed(adapter):
    return list_whole(Adapter.list_relations)(adapter, SCHEMA)


def test_what_is_listed_is_believed():
    adapter = Adapter([["orders"]], DbtRuntimeError("not asked"))
    assert listed(adapter) == ["orders"] and adapter.listed == 1


@pytest.mark.parametrize(
    "tables",
    [[], [{"namespace": "", "tableName": "temporary"}], DbtRuntimeError("[SCHEMA_NOT_FOUND] shop")],
)
def test_an_empty_list_is_believed_where_there_are_no_tables(tables):
    adapter = Adapter([[]], tables)
    assert listed(adapter) == [] and adapter.listed == 1


def test_it_is_listed_again_where_there_are_tables():
    adapter = Adapter([[], [], ["orders"]], [{"namespace": "shop", "tableName": "orders"}])
    assert listed(adapter) == ["orders"] and adapter.listed == 3


def test_it_gives_up_with_a_sentence():
    adapter = Adapter([[]], [{"namespace": "shop", "tableName": "orders"}])
    with pytest.raises(DbtRuntimeError) as raised:
        listed(adapter)
    assert raised.value.msg == (
        "floodmark: Spark could not list the tables of shop. In each of 20 tries, another job "
        "dropped one. Run again when fewer jobs use the schema"
    )
    assert adapter.listed == TRIES


def test_another_failure_is_not_an_empty_list():
    with pytest.raises(DbtRuntimeError, match="connection refused"):
        listed(Adapter([[]], DbtRuntimeError("connection refused")))
