"""Which statements a session answers from Delta's log: the others never reach it."""

from __future__ import annotations

import pytest

from dbt_floodmark.spark import delta_log

SHORT = "describe history a.`b` limit 5"


@pytest.mark.parametrize(
    "sql",
    [
        SHORT,
        SHORT.upper(),
        f"/* {{}} */ {SHORT}",
        f"/* a * b / c\n*/\n/**/ {SHORT} /* appended */\n",
        "/* x */ " * 500 + SHORT,
        "describe\n history\ta.b  limit\n20",
    ],
)
def test_short_histories(sql: str) -> None:
    with pytest.raises(AttributeError, match="_jvm"):
        delta_log.history(None, sql)


@pytest.mark.parametrize(
    "sql",
    [
        "describe history a.b",
        "describe history a.b limit 0",
        "describe history a.b limit 21",
        "describe history a.b limit 1 + 1",
        "describe history a.b limit all",
        f"{SHORT}; select 1",
        f"{SHORT} -- 1",
        f"-- {SHORT}",
        f"/* {SHORT} */ select 1",
        f"select '{SHORT}'",
        f"explain {SHORT}",
        "/* x */ " * 500 + "select 1",
        "/*" * 500 + SHORT,
        "",
    ],
)
def test_other_statements_are_sparks(sql: str) -> None:
    assert delta_log.history(None, sql) is None


def test_values_are_texts_as_in_sparks_map() -> None:
    commit = {
        "operation": "WRITE",
        "operationParameters": {"n": 3, "b": True, "none": None, "text": '["a"]'},
        "operationMetrics": {"numFiles": "1"},
        "isBlindAppend": False,
        "txnId": "not a column",
    }
    row = dict(
        zip([name for name, _ in delta_log.COLUMNS], delta_log._row(7, 1_500, commit), strict=True)
    )
    assert (row["version"], str(row["timestamp"])) == (7, "1970-01-01 00:00:01.500000")
    assert row["operationParameters"] == {"n": "3", "b": "true", "none": None, "text": '["a"]'}
    assert (row["operationMetrics"], row["isBlindAppend"]) == ({"numFiles": "1"}, False)
    assert row["userMetadata"] is row["job"] is None
