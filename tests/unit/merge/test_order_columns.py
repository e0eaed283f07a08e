"""Which column says which row of a key is the latest, and whether it can; without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.macros import Refused, load


@pytest.mark.parametrize(
    ("family", "type", "staged_by", "refused"),
    [
        # The family of a micro-batch is of its number, and its order is the event time.
        ("stream", "string", None, False),
        ("sequence", "bigint", None, False),
        ("timestamp", "timestamp", None, False),
        ("sequence", "string", None, True),
        ("sequence", "varchar(20)", None, True),
        # Texts of times are the user's own.
        ("timestamp", "string", None, False),
        # What another run staged, it has checked.
        ("sequence", "string", "1a2b3c4d", False),
    ],
)
def test_texts_have_another_order_than_numbers(
    family: str, type: str, staged_by: str | None, refused: bool
) -> None:
    floodmark = load()
    is_stream = family == "stream"
    run = {"settings": {"watermark": {"column": "N", "kind": family}}}
    batch = {"staged_by": staged_by, "family": "sequence" if is_stream else family}
    batch["kind"] = "stream" if is_stream else "incremental"
    problems = floodmark._order_problems(run, batch, [{"name": "n", "type": type}])
    assert [one["setting"] for one in problems] == ["watermark.column"] * refused


@pytest.mark.parametrize(
    ("more", "select", "table", "refused"),
    [
        ({}, ["id", "ts"], ["id"], True),
        ({}, ["id", "ts"], ["id", "TS"], False),
        # Any row that differs wins, and a key may not come twice in a batch.
        ({}, ["id"], ["id"], False),
        ({"begins": True}, ["id", "ts"], [], False),
        ({"rows_null": 0}, ["id", "ts"], ["id"], False),
        ({"nulls": "exclude"}, ["id", "ts"], ["id"], False),
    ],
)
def test_rows_without_a_value_need_the_column_in_the_table(
    more: dict[str, Any], select: list[str], table: list[str], refused: bool
) -> None:
    floodmark = load()
    floodmark._table_columns = lambda run: [{"name": name, "type": "int"} for name in table]
    run = {"settings": {"watermark": {"column": "ts", "kind": None}}}
    batch = {"family": "timestamp", "nulls": "include", "rows_null": 2, "begins": False} | more
    columns = [{"name": name, "type": "int"} for name in select]
    problems = floodmark._order_problems(run, batch, columns)
    assert [one["setting"] for one in problems] == ["watermark.nulls"] * refused


@pytest.mark.parametrize(
    ("family", "lacking", "todo"),
    [
        ("version", "no _commit_version in the SELECT", "Add _commit_version to the SELECT"),
        (
            "timestamp",
            "no watermark column in the SELECT",
            "Add the watermark column to the SELECT",
        ),
        (None, "no watermark column in the SELECT", "Add the watermark column to the SELECT"),
    ],
)
def test_repeated_keys_name_the_column_that_would_tell(
    family: str | None, lacking: str, todo: str
) -> None:
    floodmark = load()
    floodmark._query_json = lambda sql: [{"repeated": 1, "shown": '{"id": 7}'}]
    watermark = {"column": "ts", "kind": family} if family else None
    run = {"settings": {"watermark": watermark, "unique_key": ["id"]}}
    source = {"columns": [{"name": "id"}], "counts": {"repeated": 1}, "stage": "stage"}
    said = rf"1 key comes more than once in the batch and {lacking} says which row is the latest: {{\"id\": 7}}\. {todo}, or make"
    with pytest.raises(Refused, match=said):
        floodmark._check_keys(run, {"family": family}, source)
    # What is held has the columns that it came with.
    replay = {"family": family, "kind": "replay", "asked": {"part": "rows"}}
    with pytest.raises(Refused, match="leave these rows out with where, or give them other values"):
        floodmark._check_keys(run, replay, source)


@pytest.mark.parametrize(
    ("more", "is_asked"),
    [
        ({}, True),
        ({"low_position": None, "start_position": 1}, True),
        # It reads the table as it is: rows of a key are no changes of it.
        ({"low_position": None}, False),
        ({"family": "timestamp"}, False),
        ({"judged": {"rows_quarantined": 0}}, False),
        ({"judged": None}, False),
    ],
)
def test_a_change_that_is_held_counts_among_those_of_its_key(
    more: dict[str, Any], is_asked: bool
) -> None:
    """Without the version nobody knows whether it is newer than one that is kept."""
    floodmark, asked = load(), []
    floodmark._query_json = lambda sql: asked.append(sql) or []
    floodmark._judged_relation = lambda batch: "judged"
    rule = {"name": "positive", "kind": "row", "on_violation": "quarantine"}
    settings = {"watermark": {"kind": "version"}, "unique_key": ["id", "shop"]}
    run = {"settings": settings, "sql": "/*floodmark:changes shop.x*/"}
    source = {"columns": [{"name": "id"}], "counts": {"repeated": 0}, "stage": "kept"}
    batch = {"family": "version", "low_position": 3, "start_position": None, "rules": [rule]}
    batch["judged"] = {"rows_quarantined": 1}
    floodmark._check_keys(run, batch | more, source)
    keys = "select `id`, `shop` from judged where ((_floodmark_broken_0 & 1L) <> 0)"
    found = [
        f"from (select * from judged where (`id`, `shop`) in ({keys})) group by" in sql
        for sql in asked
    ]
    assert found == [True] * is_asked
    # The version tells, and the kind within one commit.
    source["columns"] += [{"name": "_commit_version"}, {"name": "_change_type"}]
    floodmark._check_keys(run, batch, source)
    assert len(asked) == is_asked


@pytest.mark.parametrize(
    ("settings", "names", "told"),
    [
        ({"watermark": {"column": "AT", "kind": None}}, ["id", "at", "v"], "`id`, `at`"),
        # The SELECT lacks it, or there is none: all rows of a key are readings of one row.
        ({"watermark": {"column": "at", "kind": None}}, ["id", "v"], "`id`"),
        ({"watermark": None}, ["id", "at"], "`id`"),
        ({"watermark": {"kind": "version"}}, ["id", "_commit_version"], "`id`, `_commit_version`"),
        ({"watermark": None, "event_time": "seen"}, ["id", "seen"], "`id`, `seen`"),
    ],
)
def test_a_replay_takes_the_last_reading_of_a_row(
    settings: dict[str, Any], names: list[str], told: str
) -> None:
    floodmark = load()
    run = {"settings": settings | {"unique_key": ["id"]}}
    columns = [{"name": name, "type": "int"} for name in names]
    rule = {"name": "positive", "kind": "row", "on_violation": "quarantine"}
    batch = {"judged": {"columns": columns}, "rules": [rule], "kind": "replay"}
    floodmark._judged_relation = lambda batch: "judged"
    floodmark._quarantine_relation = lambda relation: "quarantine"
    floodmark._columns_of = lambda relation: columns

    def asking(given: dict[str, str] | None) -> str:
        asked = batch | {"asked": {"replay": {"set": given}}}
        return " ".join(floodmark._last_readings_sql(run, asked).split())

    sql = asking(None)
    quoted = ", ".join(f"`{name}`" for name in names)
    assert sql.startswith(f"select {quoted} from ( select *, rank() over ( partition by {told} ")
    assert " order by _floodmark_held_by desc ) as _floodmark_reading from judged join ( " in sql
    assert " where not ((_floodmark_broken_0 & 1L) <> 0) ) where _floodmark_reading = 1" in sql
    assert asking({"v": "1"}) == sql
    # All rows may have one value in it then: the later is the one that came with the greater.
    if "," in told:
        order = names[1]
        sql = asking({order.upper(): "current_timestamp()"})
        assert "order by _floodmark_came_at desc nulls last, _floodmark_held_by desc" in sql
        assert f" as _floodmark_held_by, `{order}` as _floodmark_came_at from quarantine" in sql


@pytest.mark.parametrize(
    ("sql", "columns", "more", "is_asked"),
    [
        ("/*floodmark:changes shop.x*/", ["id", "op", "_commit_version"], {}, True),
        ("/*floodmark:changes shop.x preimages*/", ["id", "_COMMIT_VERSION"], {}, True),
        ("/*floodmark:changes shop.x*/", ["id", "_commit_version"], {"low_position": None, "start_position": 1}, True),
        # The first load reads the rows of the table, a feed of events what was added.
        ("/*floodmark:changes shop.x*/", ["id", "_commit_version"], {"low_position": None}, False),
        ("/*floodmark:changes shop.x events*/", ["id", "_commit_version"], {}, False),
        ("select 1 as _commit_version", ["id", "_commit_version"], {}, False),
        ("/*floodmark:changes shop.x*/", ["id", "_change_type", "_commit_version"], {}, False),
        ("/*floodmark:changes shop.x*/", ["id", "ts"], {"family": "timestamp"}, False),
    ],
)  # fmt: skip
def test_what_one_commit_takes_away_and_adds_needs_its_kind(
    sql: str, columns: list[str], more: dict[str, Any], is_asked: bool
) -> None:
    """Of the two images of a row the hash would decide, and every other update would be lost."""
    floodmark, asked = load(model={"raw_code": ""}), []
    floodmark._query_json = lambda query: (
        asked.append(query),
        [{"repeated": 2, "shown": '{"id": 7, "_commit_version": 5}'}],
    )[1]
    watermark = {"column": "ts", "kind": "timestamp" if "family" in more else "version"}
    run = {"settings": {"watermark": watermark, "unique_key": ["id"]}, "sql": sql}
    batch = {"family": "version", "low_position": 4, "start_position": None} | more
    source = {"columns": [{"name": name} for name in columns], "counts": {"repeated": 2}, "stage": "stage"}  # fmt: skip
    if not is_asked:
        floodmark._check_keys(run, batch, source)
        assert not asked
        return
    said = (
        r"2 keys come more than once in one commit of the batch and no _change_type in the SELECT says which row was "
        r"taken away: .*7.*5.*\. Add _change_type to the SELECT; merge does not"
    )
    with pytest.raises(Refused, match=said):
        floodmark._check_keys(run, batch, source)
    assert "from stage group by `id`, `_commit_version` having" in asked[0].lower()
    # One of the two may go to the quarantine: the kept rows have the key once then. What is dropped is nowhere.
    source["counts"]["repeated"] = 0
    floodmark._check_keys(run, batch, source)
    assert len(asked) == 1
    floodmark._judged_relation = lambda batch: "judged"
    rules = [{"name": name, "kind": "row", "on_violation": name} for name in ("quarantine", "drop")]
    batch |= {"judged": {"rows_quarantined": 1}, "rules": rules}
    with pytest.raises(Refused, match=said):
        floodmark._check_keys(run | {"partitions": []}, batch, source)
    held, dropped = "((_floodmark_broken_0 & 1l) <> 0)", "((_floodmark_broken_0 & 2l) <> 0)"
    rows = f"(select * from judged where if({held}, not (`id` is null), not {dropped}))"
    assert f"from {rows} group by `id`, `_commit_version` having" in asked[1].lower()
