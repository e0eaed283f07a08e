"""When a batch that may have replayed rows may be given up; without Spark."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.support.macros import Refused, load


@pytest.mark.parametrize(
    ("kind", "asked", "staged", "part", "is_whole", "stops"),
    [
        ("replay", "rows", 3, "judged", True, True),
        ("replay", "records", 3, "files", True, True),
        # Its staging table is gone, or has lost files: no run can finish it.
        ("replay", "rows", 2, "judged", True, False),
        ("replay", "rows", 3, "judged", False, False),
        # What it has left does not tell which rows it has loaded.
        ("replay", "rows", 3, None, True, False),
        ("replay", "records", 3, "judged", True, False),
        ("incremental", None, 3, "judged", True, False),
    ],
)
def test_a_replay_that_a_run_can_finish_is_not_given_up(
    kind: str, asked: str | None, staged: int, part: str | None, is_whole: bool, stops: bool
) -> None:
    floodmark = load()
    floodmark._stages = lambda relation: [{"batch_id": staged, "relation": "stage", "part": part}]
    floodmark._stored_asked = lambda batch_id, id: {"part": asked}
    floodmark._is_stage_whole = lambda stage: is_whole
    planned = {"batch_id": 3, "kind": kind}
    if stops:
        with pytest.raises(Refused, match="batch 3 replays rows and is unfinished: run the model"):
            floodmark._require_replay_ended("shop.orders", "shop.orders", planned)
    else:
        floodmark._require_replay_ended("shop.orders", "shop.orders", planned)


@pytest.mark.parametrize(
    ("finished_id", "kind", "stops"),
    [
        (2, "replay", True),
        (2, "incremental", False),
        (3, "replay", False),
    ],
)
def test_rows_are_discarded_once_no_replay_is_open(
    finished_id: int, kind: str, stops: bool
) -> None:
    """The staging table alone says nothing: a run may have ended before it dropped it."""
    relation = SimpleNamespace(Relation=SimpleNamespace(create=lambda **names: names))
    floodmark, sent = load(api=relation, print=lambda text: ""), []
    node = SimpleNamespace(schema="shop", alias="orders", name="orders")
    floodmark._asked_quarantine = lambda *asked: node
    floodmark._quarantine_of = lambda node: "shop.orders__quarantine"
    floodmark._count_open = lambda *asked: 1
    floodmark._open_predicate = lambda *asked: "id in (select 1)"
    floodmark._node_id = lambda node: "shop.orders"
    floodmark._model_state = lambda id: {
        "last_batch_id": 3,
        "finished_id": finished_id,
        "planned": {"batch_id": 3, "kind": kind},
    }
    floodmark._stages = lambda relation: [{"batch_id": 3, "relation": "stage", "part": "judged"}]
    floodmark._stored_asked = lambda batch_id, id: {"part": "rows"}
    floodmark._is_stage_whole = lambda stage: True
    floodmark._execute = sent.extend
    if stops:
        with pytest.raises(Refused, match="batch 3 replays rows and is unfinished: run the model"):
            floodmark.quarantine_discard("orders", "a test")
        assert not sent
    else:
        floodmark.quarantine_discard("orders", "a test")
        [merge] = sent
        # A condition stands in the source: Delta takes no subquery elsewhere.
        source, _, matched = merge.partition(") as d on ")
        assert source.startswith("merge into shop.orders__quarantine as q using (select ")
        assert source.endswith("from shop.orders__quarantine where id in (select 1)")
        assert "select" not in matched and "set _floodmark_state = 'discarded'" in matched


@pytest.mark.parametrize("records", [True, False])
def test_what_a_replay_loaded_beside_a_discard_is_replayed(records: bool) -> None:
    """The discard had looked before the replay was planned; what a rule drops is discarded as it was."""
    floodmark, sent = load(), []
    floodmark._quarantine_relation = lambda relation: "shop.orders__quarantine"
    floodmark._records_stage = lambda batch: "records"
    floodmark._judged_relation = lambda batch: "judged"
    floodmark._broken_sql = lambda rules, actions: f"broken_{actions[0]}"
    floodmark._execute = sent.extend
    asked = {"part": "records" if records else "rows"}
    floodmark._settle_replayed({"kind": "replay", "asked": asked, "rules": []})
    ((_, matched),) = [sql.split(") as r on ") for sql in sent]
    assert matched == (
        "q._floodmark_id = r._floodmark_id and (q._floodmark_state = 'open' or q._floodmark_state = 'discarded' "
        "and not r.is_dropped) when matched then update set _floodmark_state = "
        "if(r.is_dropped, 'discarded', 'replayed')"
    )
