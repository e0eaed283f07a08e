"""Settings that name columns which have no type yet (`null as note`): no names that are wrong. Without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.macros import load

CDC = {
    "scd_type": 2, "start_at": "__start_at", "end_at": "__end_at", "sequence": "seq", "sequence_by": ["seq"],
    "column_list": [], "except_column_list": [], "tracked": [], "untracked": [], "reads_feed": False,
    "ignore_null_updates": False, "deletes": None, "truncates": None,
}  # fmt: skip
SNAPSHOT = {
    "scope": None,
    "compared": [],
    "excepted": [],
    "version": None,
    "scd_type": 1,
    "on_missing": "delete",
    "output": "table",
}
BATCH = {"replaces": True}
#: Setting as messages name it -> the check of columns, and the settings of the model.
LISTS: dict[str, tuple[str, dict[str, Any]]] = {
    "cdc.column_list": ("events", {"column_list": ["id", "Note"]}),
    "cdc.except_column_list": ("events", {"except_column_list": ["Note"]}),
    "cdc.track_history_column_list": ("events", {"tracked": ["Note"]}),
    "cdc.track_history_except_column_list": ("events", {"untracked": ["Note"]}),
    "cdc.ignore_null_updates": ("events", {"ignore_null_updates": ["Note"]}),
    "snapshot_diff.compare_columns": ("snapshot", {"compared": ["Note"]}),
    "snapshot_diff.except_columns": ("snapshot", {"excepted": ["Note"]}),
    "merge_update_columns": ("merge", {"merge_update_columns": ["Note"]}),
    "merge_exclude_columns": ("merge", {"merge_exclude_columns": ["Note"]}),
}


def refused(setting: str, untyped: list[str] | None, **more: Any) -> list[tuple[str, str]]:
    """What is refused of a SELECT that gives `id`, `seq` and `v` with a type: setting and name."""
    kind, settings = LISTS[setting]
    config = {"unique_key": "id"} | (settings if kind == "merge" else {})
    floodmark = load(config=config)
    found: list[dict[str, Any]] = []
    floodmark._refuse = lambda problems, **_: found.extend(problems)
    floodmark._kept_untyped = lambda: more.get("kept", [])
    run = {
        "untyped": untyped,
        "target": {"is_delta": more.get("is_delta", False), "exists": False},
        "settings": {
            "unique_key": more.get("key", ["id"]),
            "on_schema_change": "ignore",
            "cdc": CDC | settings,
            "snapshot": SNAPSHOT | settings,
            "watermark": {"column": "seq"} if kind == "partition" else None,
            "partition_by": ["Note"],
        },
    }
    columns = [{"name": name, "type": "int", "ddl": "int"} for name in ("id", "seq", "v")]
    if kind == "events":
        made = {"_floodmark_sequence": "int", "_floodmark_delete": "boolean"}
        made["_floodmark_truncate"] = "boolean"
        columns += [{"name": name, "type": ddl, "ddl": ddl} for name, ddl in made.items()]
        floodmark._table_own_columns = lambda run: []
        floodmark._check_event_columns(run, BATCH, columns)
    elif kind == "snapshot":
        floodmark._check_snapshot_columns(run, columns, "select 1")
    elif kind == "partition":
        floodmark._check_partition_columns(run, columns)
    else:
        floodmark._check_merge_columns(run, BATCH, columns)
    return [(problem["setting"], problem["got"]) for problem in found]


@pytest.mark.parametrize("setting", LISTS)
def test_a_name_that_has_no_type_yet_is_no_wrong_name(setting: str) -> None:
    assert refused(setting, ["note", "s.f"]) == []
    assert refused(setting, ["s.f"]) == [(setting, "Note")]
    # A batch that an earlier run staged: the table names what was kept out of it.
    assert refused(setting, None, is_delta=True, kept=["note"]) == []
    assert refused(setting, None) == [(setting, "Note")]


def test_a_key_is_not_compared_whatever_has_no_type(monkeypatch: pytest.MonkeyPatch) -> None:
    setting = "snapshot_diff.compare_columns"
    monkeypatch.setitem(LISTS, setting, ("snapshot", {"compared": ["ID"]}))
    assert refused(setting, ["id"]) == [(setting, "ID")]


@pytest.mark.parametrize(
    ("setting", "kind", "settings"),
    [
        ("unique_key", "events", {}),
        ("unique_key", "snapshot", {}),
        ("unique_key", "merge", {}),
        ("snapshot_diff.version", "snapshot", {"version": "Note"}),
        ("partition_by", "partition", {}),
    ],
)
def test_a_column_that_is_needed_is_not_called_missing(
    monkeypatch: pytest.MonkeyPatch, setting: str, kind: str, settings: dict[str, Any]
) -> None:
    monkeypatch.setitem(LISTS, setting, (kind, settings))
    key = ["id", "Note"] if setting == "unique_key" else ["id"]
    untyped = "Note without a type (NULL, or an empty array or map)"
    assert refused(setting, ["note"], key=key) == [(setting, untyped)]
    assert refused(setting, ["s.note"], key=key) == [(setting, "Note")]
