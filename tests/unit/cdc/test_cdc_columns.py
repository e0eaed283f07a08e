"""Which columns of a table cdc writes; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load

CDC = {
    "scd_type": 2, "start_at": "__start_at", "end_at": "__end_at", "sequence": "seq", "sequence_by": ["seq"],
    "column_list": [], "except_column_list": [], "reads_feed": False, "ignore_null_updates": False,
}  # fmt: skip
KEPT = ["__start_at", "__end_at", "_floodmark_sequence"]


def columns_of(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "type": "int", "ddl": "int"} for name in names]


def checked(
    selected: list[str], foreign: list[str], **cdc: Any
) -> tuple[list[str], list[dict[str, str]]]:
    """The table's columns that are cdc's own after a batch's check, and the properties it set."""
    floodmark = load()
    made_by = floodmark._cdc_made_by(CDC, ["id"])
    stored = {"cdc": made_by, "foreign": str(foreign).replace("'", '"')}
    text = ",".join(f"floodmark.{name}={floodmark._to_property(stored[name])}" for name in stored)
    described = SimpleNamespace(rows=[["id", "int"], ["Table Properties", f"[{text}]"]])
    floodmark = load(run_query=lambda sql: described)
    set_to: list[dict[str, str]] = []
    floodmark._set_properties = set_to.append
    run = {
        "settings": {"cdc": CDC | cdc, "unique_key": ["id"]},
        "table_columns": columns_of("id", "a", "Note", "twice", *KEPT),
    }
    problems = floodmark._key_type_problems(run, columns_of(*selected, "_floodmark_sequence"))
    assert problems == []
    set_to = [
        {name: floodmark._from_property(value) for name, value in one.items()} for one in set_to
    ]
    return [column["name"] for column in floodmark._table_own_columns(run)], set_to


def test_a_column_that_the_select_gains_is_written() -> None:
    """A hand-made table has more columns than the SELECT at first, and the SELECT gives one later."""
    assert checked(["id", "a"], ["note", "twice"]) == (["id", "a"], [])
    own, properties = checked(["id", "a", "NOTE"], ["note", "twice"])
    assert own == ["id", "a", "Note"]
    # It stays cdc's, also where the SELECT loses it again.
    assert properties == [{"floodmark.foreign": '["twice"]'}]
    assert checked(["id", "a"], ["twice"]) == (["id", "a", "Note"], [])


@pytest.mark.parametrize(
    "left_out", [{"except_column_list": ["note"]}, {"column_list": ["id", "a"]}]
)
def test_a_column_that_the_settings_leave_out_stays_foreign(left_out: dict[str, Any]) -> None:
    assert checked(["id", "a", "note"], ["note", "twice"], **left_out) == (["id", "a"], [])


@pytest.mark.parametrize(
    ("table", "refused"),
    [
        ({"id": "int", "a": "int"}, []),
        ({"id": "int", "__start_at": "timestamp", "__end_at": "timestamp"}, []),
        ({"id": "int", "__start_at": "date", "__END_at": "date"}, ["start_at", "end_at"]),
        ({"id": "int", "__start_at": "timestamp", "__end_at": "string"}, ["end_at"]),
        ({"id": "int", "__start_at": "timestamp_ntz"}, ["start_at"]),
        # A table of cdc whose sequence is another now: its start and end tell no more.
        ({"id": "int", "__start_at": "int", "_floodmark_sequence": "int"}, ["sequence_by"]),
    ],
)
def test_start_and_end_have_the_type_of_the_sequence(
    table: dict[str, str], refused: list[str]
) -> None:
    """A MERGE casts a timestamp to a date without a word. Nothing is added to a table that is refused."""
    floodmark = load(run_query=lambda sql: SimpleNamespace(rows=[]))
    adopted: list[Any] = []
    floodmark._adopt_cdc_table = lambda run, columns: adopted.append(columns)
    floodmark._key_type_problems = lambda run, columns: []
    floodmark._feed_sequence_problems = lambda run, columns: []
    given = {"id": "int", "seq": "timestamp", "_floodmark_sequence": "timestamp",
             "_floodmark_delete": "boolean", "_floodmark_truncate": "boolean"}  # fmt: skip
    columns, known = (
        [{"name": name, "type": ddl, "ddl": ddl} for name, ddl in types.items()]
        for types in (given, table)
    )
    lists = {"column_list": [], "tracked": [], "untracked": [], "deletes": None, "truncates": None}
    run = {
        "settings": {"cdc": CDC | lists, "unique_key": ["id"]},
        "target": {"exists": True, "is_delta": True},
        "table_columns": known,
    }
    batch = {"begins": True, "replaces": False}
    if not refused:
        floodmark._check_event_columns(run, batch, columns)
        assert adopted == [columns]
        return
    with pytest.raises(Refused) as found:
        floodmark._check_event_columns(run, batch, columns)
    assert adopted == []
    for setting in ("start_at", "end_at", "sequence_by"):
        told = f'cdc.{setting}: got "seq timestamp"; expected ' in str(found.value)
        assert told == (setting in refused), str(found.value)


@pytest.mark.parametrize("listed", [[], ["id", "n"]])
def test_keys_and_names_that_cdc_cannot_take(listed: list[str]) -> None:
    """All at once; a key may be in the SELECT, and left out by column_list."""
    floodmark = load()
    floodmark._feed_sequence_problems = lambda run, columns: []
    given = {"id": "map<string,int>", "n": "int", "out": "int", "__START_at": "int", "_floodmark_v": "int",
             "_floodmark_sequence": "int", "_floodmark_delete": "boolean", "_floodmark_truncate": "boolean"}  # fmt: skip
    columns = [{"name": name, "type": ddl, "ddl": ddl} for name, ddl in given.items()]
    lists = {"column_list": listed, "tracked": [], "untracked": []}
    run = {"settings": {"cdc": CDC | lists, "unique_key": ["id", "out", "gone"]}, "target": {}}
    with pytest.raises(Refused) as found:
        floodmark._check_event_columns(run, {"replaces": True}, columns)
    add = "Add it to the SELECT and to column_list" if listed else "Add it to the SELECT"
    missing = f"expected a column of the SELECT that the table keeps. {add}, or correct the name"
    own = "expected no column that floodmark writes itself. Leave it out or give it another name"
    assert str(found.value).splitlines()[1:] == [
        '  - unique_key: got "id map<string,int>"; expected a type that can be compared. Use another key',
        *[f'  - unique_key: got "{key}"; {missing}' for key in (["out"] if listed else []) + ["gone"]],
        f'  - cdc: got "a column __START_at in the SELECT"; {own}',
        f'  - cdc: got "a column _floodmark_v in the SELECT"; {own}',
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("cdc", "unlike"),
    [
        ({}, []),
        ({"except_column_list": ["Loaded_At", "op"]}, ["op", "loaded_at"]),
        ({"column_list": ["id", "a"]}, ["seq", "op", "at", "loaded_at"]),
        # What says which event it is, and where it stands along the watermark.
        ({"column_list": ["id", "a"], "sequence_by": ["seq"]}, ["op", "at", "loaded_at"]),
        ({"except_column_list": ["op", "loaded_at"], "deletes": "op = 'd'"}, ["loaded_at"]),
        ({"except_column_list": ["op", "loaded_at"], "truncates": "op.is_all"}, ["loaded_at"]),
    ],
)
def test_the_columns_in_which_one_event_may_differ(cdc: dict[str, Any], unlike: list[str]) -> None:
    none = {"deletes": None, "truncates": None, "sequence_by": ["n"]}
    run = {"settings": {"cdc": CDC | none | cdc, "watermark": None}}
    columns = columns_of("id", "a", "seq", "op", "at", "loaded_at")
    assert load()._cdc_strategy()["unlike"](run, columns) == unlike
    run["settings"]["watermark"] = {"column": "AT", "kind": None}
    found = load()._unkept_columns(run, columns)
    assert found == [name for name in unlike if name != "at"]
