"""An envelope in files whose `before` and `after` no IF can give: a batch says so, which knows them; without Spark."""

from __future__ import annotations

import pytest

from tests.support.macros import Refused, load

FILES = "/*floodmark:files*/ (select 1) /*floodmark:end*/"
ROW, KEY = "struct<id:string,name:string>", "struct<id:string>"
TOLD = (
    "in these files before is {} and after is {}. debezium() over new_files() needs structs with the same fields: "
    "give before and after one type in files.schema_hints, or load the files into a bronze model and read that"
)


@pytest.mark.parametrize(
    ("before", "after", "is_refused"),
    [
        (ROW, ROW, False),
        # Spark widens a field.
        (KEY, "struct<ID:bigint>", False),
        (KEY, ROW, True),
        ("struct<name:string,id:string>", ROW, True),
        # All that came so far are snapshots: a column of nulls is a string.
        ("string", ROW, True),
        ("string", "string", True),
    ],
)
def test_sides_that_differ_are_told(before: str, after: str, is_refused: bool) -> None:
    floodmark = load(execute=True)
    sql = f"select * from {floodmark.debezium(FILES)}"
    record = f"struct<op:string,before:{before},after:{after},ts_ms:string>"
    batch = {"reader": "stage", "file_schema": {"record": record}}
    if is_refused:
        with pytest.raises(Refused) as refused:
            floodmark._select_of(batch, sql)
        assert TOLD.format(before, after) in str(refused.value)
    else:
        assert "from stage\n" in floodmark._select_of(batch, sql)


@pytest.mark.parametrize(
    ("record", "row"),
    [
        (f"after:{ROW}", "null, after"),
        (f"BEFORE:{ROW}", "before, null"),
        ("name:string", "before, after"),
    ],
)
def test_a_side_that_the_files_do_not_have_is_null(record: str, row: str) -> None:
    """Without both it is no envelope, as Spark will say."""
    floodmark = load(execute=True)
    sql = f"select * from {floodmark.debezium(FILES)}"
    batch = {"reader": "stage", "file_schema": {"record": f"struct<op:string,{record}>"}}
    assert f"if(op = 'd', {row}) as _row" in floodmark._select_of(batch, sql)


@pytest.mark.parametrize(
    ("columns", "row"),
    [
        ({"after": ROW}, "if(op = 'd', null, after)"),
        ({"Before": ROW, "op": "string"}, "if(op = 'd', before, null)"),
        (
            {"after": ROW, "before": "void"},
            f"if(op = 'd', from_json(cast(before as string), '{ROW}'), after)",
        ),
    ],
)
def test_a_side_that_a_relation_does_not_have_is_null(columns: dict[str, str], row: str) -> None:
    floodmark = load(execute=True)
    known = [{"name": name, "type": ddl, "ddl": ddl} for name, ddl in columns.items()]
    assert floodmark._envelope_row_sql("raw.feed", known) == row


@pytest.mark.parametrize(
    "relation", ["raw.feed", f"(select *, from_json(before, 'id int') as before from {FILES})"]
)
def test_what_the_files_do_not_give_alone_is_not_judged(relation: str) -> None:
    """Here the SELECT makes a side."""
    floodmark = load(execute=True)
    sql = f"select * from {floodmark.debezium(relation)}"
    record = f"struct<before:string,after:{ROW}>"
    found = floodmark._select_of({"reader": "stage", "file_schema": {"record": record}}, sql)
    assert "if(op = 'd', before, after) as _row" in found


def test_a_replay_asks_such_a_select_for_its_columns() -> None:
    floodmark = load(execute=True)
    described: list[str] = []
    floodmark._columns_of = lambda query: described.append(query) or ["columns"]
    floodmark._known_schema = lambda run: {"record": f"struct<before:{ROW},after:{ROW}>"}
    floodmark._known_records_sql = lambda run, known: "no_records"
    sql = f"select * from {floodmark.debezium(FILES)}"
    run = {"settings": {"files": {"path": "in"}, "watermark": None}, "sql": sql}
    assert floodmark._selected_now(run) == ["columns"]
    assert "from no_records\n" in described[0]
