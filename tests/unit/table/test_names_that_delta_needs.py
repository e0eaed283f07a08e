"""Tables whose columns have names that Delta looks for itself; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import load

FEEDLESS = {"delta.enableChangeDataFeed": "false"}
VECTORLESS = {"delta.enableDeletionVectors": "false"}


def columns_of(*names: str) -> list[dict[str, Any]]:
    return [{"name": name, "type": "string", "ddl": "string"} for name in names]


@pytest.mark.parametrize(
    ("names", "wanted"),
    [
        ((), {}),
        (("id", "metadata"), {}),
        (("id", "_Metadata"), VECTORLESS),
        (("id", "_change_type"), FEEDLESS),
        (("_metadata", "_commit_version"), FEEDLESS | VECTORLESS),
    ],
)
def test_properties_that_names_of_columns_ask_for(
    names: tuple[str, ...], wanted: dict[str, str]
) -> None:
    assert load()._name_properties(columns_of(*names)) == wanted


@pytest.mark.parametrize(
    ("given", "own", "said"),
    [
        ({}, {}, "'true'"),
        ({}, VECTORLESS, "'false'"),
        # What the analyst asks for counts.
        ({"delta.enableDeletionVectors": "true"}, VECTORLESS, "'true'"),
    ],
)
def test_a_table_has_deletion_vectors_unless_a_name_forbids_it(
    given: dict[str, str], own: dict[str, str], said: str
) -> None:
    config = {"tblproperties": given}
    nothing = dict.fromkeys(("options_clause", "location_clause"), lambda: "")
    floodmark = load(this="shop.t", config=SimpleNamespace(get=config.get), **nothing)
    floodmark._setting = lambda name: None
    floodmark._lists_changes = lambda: False
    floodmark._assert_contract = lambda sql: None
    sql = floodmark._replace_table_sql("select 1", own)
    assert f"'delta.enableDeletionVectors' = {said}" in sql
    assert sql.count("enableDeletionVectors") == 1


def test_a_table_that_gets_such_a_column_later_has_none_from_then_on() -> None:
    sent: list[str] = []
    floodmark = load(this="shop.t")
    floodmark._execute = sent.extend
    floodmark._add_columns("shop.t", {"new": columns_of("_metadata"), "fields": []})
    floodmark._add_columns("shop.t", {"new": columns_of("v"), "fields": []})
    assert sent == [
        "alter table shop.t set tblproperties ('delta.enableDeletionVectors' = 'false')",
        "alter table shop.t add columns (`_metadata` string)",
        "alter table shop.t add columns (`v` string)",
    ]


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("select id, _Change_Type from x", ""),
        ("select id, '_change_type' as a, \"_change_type\" from x", "events"),
        ("select * except (id, _change_type) from x", "events"),
        ("select id -- it's _change_type\nfrom x", "events"),
        ("select id /* one /* in another */ _change_type */ from x", "events"),
        ("{# it's _change_type #} select id, 'it''s' from x", "events"),
        ("select id from /*floodmark:changes s.t*/ (select _change_type) /*floodmark:end*/", "events"),
    ],
)  # fmt: skip
def test_a_select_that_says_what_a_deleted_row_means(code: str, kind: str) -> None:
    assert load()._kind_of_changes("events", code) == kind
