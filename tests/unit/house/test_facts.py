"""What steers floodmark is a fact of its own: no sentence, which an editor of texts may change."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from dbt_common.exceptions import DbtRuntimeError

from dbt_floodmark.adapter.for_macros import _refuse
from dbt_floodmark.refusal import RefusedError, TryAgainError
from dbt_floodmark.streaming.advice import explain
from dbt_floodmark.streaming.streams import _is_final
from tests.support.macros import load


@pytest.mark.parametrize(
    ("asked", "start"),
    [
        (None, None),
        ({"restate": {"from": "7"}}, "7"),
        ({"restate": {"from": "0"}}, "0"),
        ({"backfill": {"from": "1", "to": "2", "step": None}}, None),
    ],
)
def test_a_restatement_is_known_by_what_was_asked(asked, start):
    batch = {"kind": "backfill", "asked": asked, "reason": "restate from another place"}
    assert load()._restates_from(batch) == start


def test_a_backfill_is_known_by_its_range():
    sql = load()._is_asked_sql({"from": "2026-01-01", "to": "it's", "step": None})
    assert sql == (
        "(get_json_object(asked, '$.backfill.from') <=> '2026-01-01' and "
        r"get_json_object(asked, '$.backfill.to') <=> 'it\'s' and "
        "get_json_object(asked, '$.backfill.step') <=> null)"
    )


def test_the_format_of_a_ledger():
    """Only views tell theirs: the first format had no property, and a table's own is not shown."""
    rows = [
        ("shop_floodmark", "batch_log", False, "Type: MANAGED\nProvider: delta\n"),
        ("shop_floodmark", "batches", False, "Type: VIEW\nTable Properties: [floodmark.ledger=12, view.x=1]\n"),
        ("shop_floodmark", "files", False, "Type: VIEW\nTable Properties: [view.x=1]\n"),
    ]  # fmt: skip
    floodmark = load(run_query=lambda sql: SimpleNamespace(rows=rows))
    assert floodmark._ledger_formats("shop_floodmark") == {
        "batch_log": 1,
        "batches": 12,
        "files": 1,
    }


def test_what_passes_is_tried_again():
    """Whatever their sentences say."""
    with pytest.raises(TryAgainError, match="another run"):
        _refuse(None, "another run writes it", True)
    with pytest.raises(RefusedError, match="run again") as stopped:
        _refuse(None, "take the column back and run again")
    assert _is_final(stopped.value)
    assert not _is_final(TryAgainError("use --full-refresh"))
    assert not _is_final(DbtRuntimeError("use --full-refresh"))


@pytest.mark.parametrize(
    ("text", "is_final"),
    [
        ("[DELTA_SCHEMA_CHANGED] Detected schema change", False),
        ("java.io.FileNotFoundException: /ck/x (Permission denied)", False),
        ("[DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE] x", True),
        ("[STATE_STORE_KEY_SCHEMA_NOT_COMPATIBLE] x", True),
        ("[DELTA_FILE_NOT_FOUND_DETAILED] File part-1 not found", True),
    ],
)
def test_only_what_a_full_refresh_mends_ends_a_stream(text, is_final):
    advice = explain(text)
    assert _is_final(advice.error(advice.text)) == is_final
