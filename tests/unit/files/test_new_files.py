"""Which files of a folder are new: what is asked, and what is recorded. Without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load

A, B = ({"path": f"file:/in/{name}.json", "size": 1, "modified_at": 1} for name in "ab")


@pytest.mark.parametrize(
    ("which", "is_empty", "sample", "recorded"),
    [
        ("run", False, None, 1),
        ("run", True, None, 0),
        ("run", False, "1 day", 0),
        ("compile", False, None, 0),
    ],
)
def test_only_a_run_records_what_it_skips(
    which: str, is_empty: bool, sample: str | None, recorded: int
) -> None:
    floodmark = load(
        flags=SimpleNamespace(WHICH=which, EMPTY=is_empty), invocation_args_dict={"sample": sample}
    )
    skipped: list[Any] = []
    floodmark._skip_existing = lambda *given: skipped.append(given)
    floodmark._ledger_has = lambda _: False
    floodmark._unseen_files = lambda *_: []
    floodmark._plan_whole = lambda files, is_last: {"files": files}
    floodmark._plan_schema = lambda *_: {"record": None}
    files = {"include_existing": False, "max_files_per_batch": 10, "max_bytes_per_batch": None}
    run = {"settings": {"files": files}, "full_refresh": False, "state": {"committed": None}}
    assert floodmark._plan_files(run, True) == {"files": [], "record": None}
    assert len(skipped) == recorded


@pytest.mark.parametrize(
    ("includes", "has_begun", "last", "recorded"),
    [
        (False, False, {}, ["skipped"]),
        # It has loaded files, or skipped some: then none is skipped again.
        (False, True, {}, []),
        (True, True, {"by_hand": []}, []),
        (True, True, {"event": "skipped", "at": 7, "by_hand": [A["path"]]}, ["forgotten"]),
        (True, True, {"event": "forgotten", "at": 8, "by_hand": []}, []),
    ],
)
def test_what_was_there_is_skipped_once_and_included_once(
    includes: bool, has_begun: bool, last: dict[str, Any], recorded: list[str]
) -> None:
    sent: list[str] = []
    asked: list[str] = []
    floodmark = load(
        flags=SimpleNamespace(WHICH="run", EMPTY=False),
        invocation_args_dict={},
        invocation_id="i",
    )
    floodmark.ledger_schema = lambda: "ledger"
    floodmark._has_no_rows = lambda sql: asked.append(sql) or not has_begun
    floodmark._has_files = lambda _: True
    floodmark._folder_files_sql = lambda _: "select"
    floodmark._execute = sent.extend
    listed: list[str] = []
    floodmark._listed = lambda _, sql: (
        listed.append(sql) or ([A, last] if "union all" in sql else [A])
    )
    floodmark._plan_whole = lambda files, is_last: {"files": files}
    floodmark._plan_schema = lambda *_: {"record": None}
    files = {"include_existing": includes, "max_files_per_batch": 10, "max_bytes_per_batch": None}
    run = {"settings": {"files": files}, "full_refresh": False, "state": {"committed": None}}
    # What was skipped is told by the statement that lists the files, and not taken for one.
    assert floodmark._plan_files(run, True)["files"] == [A]
    (asked_of_folder,) = listed
    assert ("and not (batch_id = 0 and recorded_by is null)" in asked_of_folder) is includes
    assert [
        event for event in ("skipped", "forgotten") if f", 0, '{event}'" in "".join(sent)
    ] == recorded
    assert len(sent) == len(recorded)
    if recorded == ["forgotten"]:
        # Behind the skipping, before all batches: the files that were skipped, wherever they are now, but for those
        # that somebody skipped by hand.
        at = "greatest(current_timestamp(), timestamp_micros(8))"
        assert f"select model, 0, 'forgotten', {at}, kind, 'i', filter(files, " in sent[0]
        assert """from_json('["file:/in/a.json"]', 'array<string>'), file.path)""" in sent[0]
        assert sent[0].endswith("event = 'skipped' and batch_id = 0 and recorded_by is null")
    assert all("event = 'committed' and size(files) > 0" in sql for sql in asked)
    # A run that goes on neither skips nor includes.
    floodmark._plan_files(run | {"unseen": None}, False)
    assert len(sent) == len(recorded)


@pytest.mark.parametrize(
    ("record", "known", "waits"),
    [
        (None, None, True),
        (None, {"record": "struct<id:int>"}, False),
        ("struct<id:int>", None, False),
    ],
)
def test_what_waits_for_its_first_file_says_so_in_the_select(
    record: str | None, known: dict[str, str] | None, waits: bool
) -> None:
    """Without columns nobody can analyse the SELECT (_load_dry)."""
    floodmark = load(
        flags=SimpleNamespace(WHICH="run", EMPTY=True), invocation_args_dict={}, var=lambda *_: True
    )
    files = {"max_files_per_batch": 10, "max_bytes_per_batch": None}
    run = {"settings": {"files": files}, "kind": "first_load", "unseen_is_cut": False}
    floodmark._settings = lambda: run["settings"]
    floodmark._look = lambda settings: run | {"replaces": True, "target": {"exists": False}}
    floodmark._plan_files = lambda *_: {"files": [], "record": record}
    floodmark._known_schema = lambda run: known
    floodmark._no_records_sql = lambda run, plan: "(select 1)"
    sql = floodmark._next_files_sql(files)
    assert floodmark._has_mark("waits", f"/*floodmark:files*/ {sql} /*floodmark:end*/") is waits
    assert sql.startswith("/*floodmark:plan ") and sql.endswith(" (select 1)")


def run_of(**target: Any) -> dict[str, Any]:
    """A run of a model whose table is empty."""
    committed = {"generation": "g1", "target_id": "t", "batch_id": 1}
    return {
        "settings": {"files": {}},
        "full_refresh": False,
        "state": {"committed": committed, "landed": {"generation": "g1", "target_version": 3}},
        "target": {"is_delta": True, "id": "t", "newest": {"version": 3}} | target,
        "generation": None,
    }


@pytest.mark.parametrize(
    ("changes", "target", "untouched", "generation"),
    [
        ({}, {}, True, "g1"),
        # Somebody emptied it, or made it anew; it is to be loaded anew.
        ({}, {}, False, None),
        ({}, {"id": "another"}, True, None),
        ({}, {"is_delta": False, "newest": None}, True, None),
        ({"full_refresh": True}, {}, True, None),
        # A first load that failed.
        ({"generation": "g1"}, {}, True, "g1"),
        ({"generation": "g1"}, {}, False, None),
        ({"generation": "g2"}, {}, False, "g2"),
    ],
)
def test_a_table_that_its_own_batches_left_empty_keeps_its_generation(
    changes: dict[str, Any], target: dict[str, Any], untouched: bool, generation: str | None
) -> None:
    floodmark = load()
    floodmark._is_untouched_since = lambda *_: untouched
    floodmark._model_id = lambda: "shop.orders"
    floodmark._unseen_files_sql = lambda settings, id, known, includes: f"since {known}"
    run = run_of(**target) | changes
    floodmark._keep_generation(run)
    assert run["generation"] == generation
    asked = "g1" if generation == "g1" else None
    assert floodmark._unseen_of_run_sql(run, True) == f"since {asked}"
    assert floodmark._unseen_of_run_sql(run, False) == "since g1"


def test_a_first_load_that_goes_on_supersedes_what_it_reads_and_what_was_before() -> None:
    found: list[Any] = [[3]]
    asked: list[str] = []
    given = load(run_query=lambda sql: asked.append(sql) or SimpleNamespace(rows=found))
    given.ledger_schema = lambda: "ledger"
    given._has_quarantine, given._quarantine_relation = lambda _: False, lambda _: "q"
    given._batch_model = lambda _: "shop.orders"
    batch = {"batch_id": 5, "generation": "g1", "files": [A, B]}
    again = "(_floodmark_batch_id < 3 or _floodmark_file in ('file:/in/a.json', 'file:/in/b.json'))"
    assert given._files_again_sql({}, batch) == f"true and {again}"
    assert "generation = 'g1' and batch_id < 5" in asked[0]
    found[0] = [None]
    assert given._files_again_sql({}, batch) == "true"


def test_a_unit_test_is_told_how_to_give_the_rows() -> None:
    floodmark = load(execute=True, model={"resource_type": "unit_test", "name": "fed"})
    with pytest.raises(Refused, match=r"unit test 'fed'[^*]*overrides: {macros: {floodmark.new_f"):
        floodmark.new_files()
