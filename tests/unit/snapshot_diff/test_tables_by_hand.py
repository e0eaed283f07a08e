"""Whether a table that somebody made takes the version of a snapshot as it is; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load


@pytest.mark.parametrize(
    ("table", "version", "refused"),
    [
        ({"k": "int"}, "d", []),
        ({"k": "int", "__start_at": "timestamp", "__end_at": "timestamp"}, "d", []),
        ({"k": "int", "__start_at": "timestamp", "__end_at": "date"}, "d", ["__end_at"]),
        ({"k": "int", "__end_at": "date", "__missing_at": "int"}, None, ["__end_at", "__missing_at"]),
    ],
)  # fmt: skip
def test_a_version_is_not_cast_without_a_word(
    table: dict[str, str], version: str | None, refused: list[str]
) -> None:
    """Nothing is added to a table that is refused: the settings can still be changed to fit it."""
    floodmark = load(config={"contract": SimpleNamespace(enforced=False)})
    adopted: list[str] = []
    floodmark._adopt_snapshot_table = lambda run, source: adopted.append("adopted")
    floodmark._check_snapshot_table = lambda run, source: None
    floodmark._check_snapshot_columns = lambda run, columns, sql: None
    floodmark._choose_compared = lambda run, batch, source: None
    floodmark._stage_relation = lambda batch: "stage"
    columns = [{"name": name, "type": ddl, "ddl": ddl} for name, ddl in {"k": "int", "d": "timestamp"}.items()]  # fmt: skip
    floodmark._select_columns = lambda run, sql: columns
    snapshot = {"version": version, "scd_type": 2, "on_missing": "mark", "output": "table"}
    run: dict[str, Any] = {
        "settings": {"snapshot": snapshot, "unique_key": ["k"], "on_schema_change": "ignore"},
        "table_columns": [{"name": name, "type": ddl, "ddl": ddl} for name, ddl in table.items()],
    }
    batch = {"begins": True, "replaces": False}
    if not refused:
        floodmark._snapshot_columns(run, batch, "select 1")
        assert adopted == ["adopted"]
        return
    with pytest.raises(Refused) as found:
        floodmark._snapshot_columns(run, batch, "select 1")
    assert adopted == []
    for name in refused:
        got = (
            f'snapshot_diff.version: got "{version or "the time of the load"} as {name} timestamp"'
        )
        assert f"{got}; expected {table[name]}, as in " in str(found.value)


@pytest.mark.parametrize(
    ("selected", "foreign", "kept"),
    [(["k"], ["note", "twice"], None), (["k", "NOTE"], ["twice"], '["twice"]')],
)
def test_a_column_that_the_select_came_to_give_is_its_own(
    selected: list[str], foreign: list[str], kept: str | None
) -> None:
    """It is carried over where the SELECT loses it again."""
    floodmark = load()
    stored = {"snapshot_diff": "as it was made", "foreign": '["note", "twice"]'}
    made = {f"floodmark.{name}": floodmark._to_property(text) for name, text in stored.items()}
    set_to: list[dict[str, str]] = []
    floodmark._properties_of = lambda relation: made
    floodmark._set_properties = set_to.append
    floodmark._snapshot_type_problems = lambda run, source: []
    floodmark._snapshot_made_by = lambda snapshot, key: "as it was made"
    source: dict[str, Any] = {
        "table": [],
        "columns": [{"name": name, "type": "int", "ddl": "int"} for name in selected],
    }
    run = {"settings": {"snapshot": {"scope": None}, "unique_key": ["k"]}}
    floodmark._check_snapshot_table(run, source)
    assert source["foreign"] == foreign
    found = [floodmark._from_property(one["floodmark.foreign"]) for one in set_to]
    assert found == ([kept] if kept else [])
