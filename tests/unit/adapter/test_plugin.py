"""The plugin acts where it knows its way, and says so where it does not."""

import pytest
from dbt.adapters.spark.connections import SparkConnectionManager

from dbt_floodmark.adapter import patches, plugin
from dbt_floodmark.adapter.plugin import FloodmarkPlugin
from dbt_floodmark.adapter.row_counts import row_counts

PATCHED = ("__init__", "open", "exception_handler", "get_response", "cancel_open")


@pytest.fixture
def bare():
    """dbt-spark without our patches; they are put back afterwards."""
    were_on = _is_on()
    patches.remove()
    yield
    patches.remove()
    if were_on:
        patches.apply()


@pytest.fixture
def warnings(monkeypatch):
    said = []
    monkeypatch.setattr(plugin.logger, "warning", said.append)
    return said


def _is_on():
    return all(
        hasattr(getattr(SparkConnectionManager, name), "_floodmark_original") for name in PATCHED
    )


def test_on_and_only_once(bare, warnings):
    FloodmarkPlugin("shop")
    first = [getattr(SparkConnectionManager, name) for name in PATCHED]
    FloodmarkPlugin("shop")
    assert _is_on() and not warnings
    assert [getattr(SparkConnectionManager, name) for name in PATCHED] == first


def test_switched_off(bare, warnings, monkeypatch):
    monkeypatch.setenv("FLOODMARK_PLUGIN", "0")
    FloodmarkPlugin("shop")
    assert not _is_on() and not warnings


def test_another_adapter(bare, warnings, monkeypatch):
    monkeypatch.delitem(plugin.sys.modules, "dbt.adapters.spark")
    FloodmarkPlugin("shop")
    assert not _is_on() and not warnings


def test_a_version_it_does_not_know(bare, warnings, monkeypatch):
    monkeypatch.setattr(patches, "dbt_spark_version", "1.12.0")
    FloodmarkPlugin("shop")
    assert not _is_on()
    assert warnings == [
        "dbt-spark 1.11.0 is not a version floodmark knows: it is not 1.11. The plugin stays off: "
        "install dbt-spark 1.11, or set FLOODMARK_PLUGIN=0 to silence this."
    ]


def test_an_inside_it_does_not_know(bare, warnings, monkeypatch):
    monkeypatch.setattr(SparkConnectionManager, "open", classmethod(lambda cls, a, b: None))
    monkeypatch.delattr(SparkConnectionManager, "get_response")
    monkeypatch.setattr(
        patches, "_EXPECTED", (*patches._EXPECTED, (patches.connections, "gone", ()))
    )
    FloodmarkPlugin("shop")
    assert warnings == [
        "dbt-spark 1.11.0 is not a version floodmark knows: SparkConnectionManager.open takes "
        "other arguments; connections.gone is missing. The plugin stays off: install dbt-spark 1.11, or set "
        "FLOODMARK_PLUGIN=0 to silence this."
    ]


@pytest.mark.parametrize(
    ("columns", "row", "message"),
    [
        (["num_affected_rows", "num_inserted_rows"], (1, 1), "OK 1 row (1 inserted)"),
        (
            ["num_affected_rows", "num_updated_rows", "num_deleted_rows", "num_inserted_rows"],
            (1200, 200, 0, 1000),
            "OK 1,200 rows (1,000 inserted, 200 updated)",
        ),
        (["num_affected_rows"], (3,), "OK 3 rows"),
    ],
)
def test_counts_in_the_result_line(columns, row, message):
    response = row_counts(columns, [row]).response()
    assert response._message == message.replace(" (1 inserted)", "")
    assert response.rows_affected == row[0]


def test_no_counts_elsewhere():
    assert row_counts(["id"], [(1,)]) is None
    assert row_counts([], []) is None
    assert row_counts(["num_affected_rows"], [(None,)]) is None


def test_python_seldom_walks_through_the_manifest(bare, warnings, monkeypatch):
    thresholds, at_the_end = [], []
    monkeypatch.setattr(plugin.gc, "set_threshold", lambda *given: thresholds.append(given))
    monkeypatch.setattr(plugin.atexit, "register", at_the_end.append)
    FloodmarkPlugin("shop")
    assert thresholds == [plugin.COLLECT_AFTER] and at_the_end == [plugin.gc.freeze]
    monkeypatch.setenv("FLOODMARK_PLUGIN", "0")
    FloodmarkPlugin("shop")
    assert len(thresholds) == len(at_the_end) == 1
