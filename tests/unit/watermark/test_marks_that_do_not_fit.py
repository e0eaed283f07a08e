"""Marks that say nothing of the table or its upstream any more, and what then helps; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load

MARK = {"column": "n"}


@pytest.mark.parametrize(
    ("committed", "watermark", "is_lost"),
    [
        (None, MARK, True),
        ({"mark": "9", "family": "sequence", "rows_read": 3}, MARK, False),
        # An empty upstream at first: the rows that stand there now are somebody's.
        ({"mark": None, "family": "sequence", "rows_read": 0, "kind": "first_load"}, MARK, True),
        # The one row of a count(*) over nothing.
        ({"mark": None, "family": "sequence", "rows_read": 1, "kind": "first_load"}, MARK, False),
        ({"mark": None, "family": "sequence", "rows_read": None, "kind": "reset"}, MARK, True),
        # Its mark was taken out by hand; that of a backfill never was there.
        (
            {
                "mark": None,
                "high": "9",
                "family": "sequence",
                "rows_read": 3,
                "kind": "incremental",
            },
            MARK,
            True,
        ),
        (
            {"mark": None, "high": "9", "family": "sequence", "rows_read": 3, "kind": "backfill"},
            MARK,
            False,
        ),
        # A batch of before, when the model had no watermark.
        ({"mark": None, "family": None, "rows_read": 3, "kind": "incremental"}, MARK, True),
        ({"mark": None, "family": None, "rows_read": 3, "kind": "incremental"}, None, False),
    ],
)
def test_append_goes_on_only_where_it_knows_what_is_loaded(
    committed: Any, watermark: Any, is_lost: bool
) -> None:
    run = {"settings": {"watermark": watermark}, "state": {"committed": committed}}
    assert bool(load()._append_lost_mark(run)) is is_lost


def stopped(
    committed: dict[str, Any],
    watermark: Any,
    strategy: str = "merge",
    unknown: dict[str, Any] | None = None,
    numbers: dict[str, Any] | None = None,
) -> list[str]:
    """What a run says of the mark that the ledger has; `numbers` are the last ones that it knows."""
    floodmark, said = load(config={}, this="shop.orders"), []
    floodmark.ledger_schema = lambda: "ledger"
    floodmark._ways_out = lambda **_: "the ways out"
    floodmark._stop = lambda sentence, **_: said.append(sentence)
    floodmark._upstream_disturbed = lambda run: None
    run = {
        "settings": {"strategy": strategy, "watermark": watermark, "files": None},
        "upstream": {"family": committed["family"], "relation": "up"}, "full_refresh": False,
        "target": {
            "is_empty": False, "exists": True, "is_delta": True, "id": "t", "disturbed": None, "unknown": unknown,
        },
        "state": {} if numbers is None else numbers,
    }  # fmt: skip
    run["state"]["committed"] = {"kind": "incremental", "target_id": "t"} | committed
    floodmark._check_target(run)
    return said


@pytest.mark.parametrize(
    ("mark", "column", "watermark", "strategy", "said"),
    [
        ("9", "n", MARK, "merge", ""),
        ("9", "N", MARK, "append", ""),
        ("9", "m", MARK, "merge", "of the column m, but the watermark is now n"),
        ("9", None, MARK, "merge", "of something other than a watermark, but the watermark is now n"),
        ("9", None, None, "merge", ""),
        (None, None, MARK, "merge", ""),
        # A version of a ledger of before: the table's property tells its column.
        ("9", None, MARK, "snapshot_diff", ""),
    ],
)  # fmt: skip
def test_a_mark_counts_for_its_own_column_alone(
    mark: str | None, column: str | None, watermark: Any, strategy: str, said: str
) -> None:
    committed = {"mark": mark, "family": "sequence", "watermark_column": column}
    found = stopped(committed, watermark, strategy)
    assert found == ([f"its mark is {said}: the ways out"] if said else [])


def test_a_mark_of_versions_has_no_column() -> None:
    committed = {"mark": "9", "family": "version", "watermark_column": None}
    assert stopped(committed, {"kind": "version", "column": None}) == []


OWN_BATCH = "floodmark/shop.orders/g/2"


@pytest.mark.parametrize(
    ("commits", "planned", "number"),
    [
        ([(2, "MERGE", OWN_BATCH)], [], 2),
        # It is planned, and not committed yet, or another run has planned it meanwhile.
        ([(2, "MERGE", OWN_BATCH)], [("g", 2)], None),
        # The same number, of another ledger; another name of the model.
        ([(2, "MERGE", "floodmark/shop.orders/h/2")], [("g", 2)], 2),
        ([(2, "MERGE", "floodmark/shop.renamed/g/2")], [("g", 2)], 2),
        ([(4, "WRITE", "floodmark/shop.orders/g/11"), (3, "WRITE", "floodmark/shop.orders/g/3"), (2, "MERGE", OWN_BATCH)], [("g", 2)], 11),
        # What leaves the rows, what others did, and what the ledger knew.
        ([(2, "MERGE", OWN_BATCH + "/fence/1111/5")], [], None),
        ([(2, "OPTIMIZE", OWN_BATCH)], [], None),
        ([(3, "DELETE", None), (2, "DELETE", "cleaned for ticket 12")], [], None),
        ([(1, "MERGE", OWN_BATCH)], [], None),
    ],
)  # fmt: skip
def test_a_batch_in_the_table_of_which_the_ledger_has_no_event(
    commits: list[tuple[int, str, str | None]], planned: list[tuple[str, int]], number: int | None
) -> None:
    floodmark, asked = load(), []
    floodmark.ledger_schema = lambda: "ledger"
    floodmark._query_json = lambda sql: (
        asked.append(sql)
        or [
            {"model": "shop.orders", "generation": generation, "batch_id": batch}
            for generation, batch in planned
        ]
    )
    done = [dict(zip(("version", "operation", "tag"), commit, strict=True)) for commit in commits]
    found = floodmark._unknown_batch("shop.orders", done, 1)
    assert (found and found["number"]) == number
    # Nothing is asked where no batch of floodmark's came since.
    assert bool(asked) == bool(number or planned)
    assert all("where model = 'shop.orders' and batch_id in (" in sql for sql in asked)


def test_a_ledger_that_is_older_than_the_table() -> None:
    unknown = {"number": 7, "version": 9, "tag": "floodmark/shop.orders/g/7"}
    committed = {"mark": "9", "family": "sequence", "watermark_column": "n"}
    for strategy in ("append", "merge", "cdc"):
        (said,) = stopped(committed, MARK, strategy, unknown, {"last_batch_id": 4})
        assert (
            "shop.orders has batch 7 in its version 9 (floodmark/shop.orders/g/7), and ledger.batch_log has no event "
            "of it. The ledger is older than the table" in said
        )
    # It compares all rows, under a number that Delta does not skip.
    numbers = {"last_batch_id": 4, "finished_id": 4}
    without = {"mark": None, "family": None, "watermark_column": None}
    assert stopped(without, None, "merge", unknown, numbers) == []
    assert (numbers["last_batch_id"], numbers["finished_id"]) == (7, 7)


@pytest.mark.parametrize("version", [2, 3])
def test_a_table_that_is_looked_at_tells_of_an_unknown_batch(version: int) -> None:
    """One whose newest commit is that of its last batch is not."""
    floodmark = load()
    commits = [{"version": v, "operation": "WRITE", "tag": f"floodmark/shop.orders/g/{v}"} for v in (3, 2)]  # fmt: skip
    floodmark._present_relation = lambda: SimpleNamespace(is_view=False, is_delta=True)
    floodmark._history = lambda relation, limit: commits[3 - version :][:limit]
    floodmark._detail = lambda relation: {"files": 1, "id": "t"}
    floodmark._now = lambda: 0
    floodmark.ledger_schema = lambda: "ledger"
    floodmark._query_json = lambda sql: []
    landed = {"model": "shop.orders", "generation": "g", "batch_id": 2, "target_version": 2, "kind": "incremental"}  # fmt: skip
    found = floodmark._target_state({"landed": landed, "committed": {"target_id": "t"}})
    assert found["is_known"] is (version == 2)
    assert (found.get("unknown") or {}).get("number") == (3 if version == 3 else None)


def test_a_reset_has_a_number_behind_those_of_the_table() -> None:
    """Else Delta would skip what the next run sends under it."""
    recorded: list[dict[str, Any]] = []
    own = {"batch_id": 8, "invocation_id": "mine"}
    reset(
        {"last_batch_id": 8, "finished_id": 8, "committed": own},
        to="5",
        before={"landed": {"model": "shop.orders", "target_version": 2}},
        recorded=recorded,
        unknown={"number": 7},
    )
    assert [batch["batch_id"] for batch in recorded] == [8]


@pytest.mark.parametrize(
    ("batch", "mark", "column"),
    [
        ({"high": "42"}, "42", "load_no"),
        # The snapshot was empty: the mark stays, and what the ledger says of it.
        ({"high": None}, "41", "before"),
        ({"high": None, "begins": True}, None, None),
    ],
)
def test_the_version_of_a_snapshot_is_the_mark_of_its_column(
    batch: dict[str, Any], mark: str | None, column: str | None
) -> None:
    """A watermark of another column does not begin at it."""
    batch = {"begins": False, "staged_by": None, "watermark_column": None} | batch
    committed = {"mark": "41", "family": "sequence", "watermark_column": "before"}
    run = {"settings": {"snapshot": {"version": "load_no"}}, "state": {"committed": committed}}
    assert load()._version_after(run, batch) == mark
    assert batch["watermark_column"] == column


@pytest.mark.parametrize(
    ("version", "at", "is_nothing_new"),
    [(4, "08:00", True), (5, "08:00", False), (4, "09:00", False)],
)
def test_a_lookback_reads_an_upstream_that_was_made_anew(
    version: int, at: str, is_nothing_new: bool
) -> None:
    """Its version may be the one that the last batch read."""
    committed = {"upstream_version": 4, "upstream_at": "08:00", "lookback": 5}
    run = {
        "settings": {"watermark": MARK, "files": None}, "target": {"exists": True}, "full_refresh": False,
        "first": True, "state": {"committed": committed},
    }  # fmt: skip
    plan = {
        "is_waiting": False, "family": "sequence", "nulls": "error", "lookback": 5, "low_position": 9,
        "upstream_version": version, "upstream_at": at,
    }  # fmt: skip
    assert bool(load()._is_nothing_new(run, plan, False)) is is_nothing_new


@pytest.mark.parametrize(
    ("mark", "said"),
    [
        (None, r"expired \S+ set watermark.start to 7 or higher, or remove it"),
        (3, r"expired \S+ the ways out. Run more often, before the log expires"),
    ],
)
def test_versions_that_have_expired(mark: int | None, said: str) -> None:
    """A full refresh would begin at `start` again."""
    floodmark = load()
    floodmark._history = lambda *_: [{"version": 9}, {"version": 7}]
    floodmark._ways_out = lambda: "the ways out"
    floodmark._only_looks = lambda: False
    upstream = {"relation": "shop.orders", "commit": {"version": 9}}
    run = {
        "settings": {"watermark": {"start": 2, "step": None, "lookback": None, "kind": "version"}},
        "upstream": upstream, "ceiling": None,
    }  # fmt: skip
    with pytest.raises(Refused, match=said):
        floodmark._plan_version(run, mark)


@pytest.mark.parametrize(
    ("config", "said"), [({}, ""), ({"full_refresh": False}, " (take full_refresh=false out for that run)")]
)  # fmt: skip
def test_a_full_refresh_that_the_model_forbids(config: dict[str, Any], said: str) -> None:
    floodmark = load(config=config)
    floodmark._setting = lambda name: None
    assert (
        floodmark._ways_out() == f"run it once with --full-refresh to load everything again{said}"
    )


@pytest.mark.parametrize(
    ("full_refresh", "first", "asks"),
    [(True, True, False), (True, False, True), (False, True, True)],
)
def test_a_full_refresh_waits_for_a_gap_anew(full_refresh: bool, first: bool, asks: bool) -> None:
    floodmark = load()
    waited = {"low": "3", "high": "9", "at": 0}
    floodmark.ledger_schema = lambda: "ledger"
    floodmark._query_json = lambda sql: [waited]
    run = {"full_refresh": full_refresh, "first": first}
    assert floodmark._last_wait(run) == (waited if asks else None)


def reset(
    *after: dict[str, Any],
    to: str | None = None,
    start: str | None = None,
    kind: str | None = None,
    strategy: str = "merge",
    before: dict[str, Any] | None = None,
    recorded: list[dict[str, Any]] | None = None,
    cdc: dict[str, Any] | None = None,
    unknown: dict[str, Any] | None = None,
    target_id: str | None = "t",
) -> str:
    """Reset a model of this ledger, `before` and each time that it is read `after`; what is printed.

    Another run's plan has taken the number of the reset's event.
    """
    printed: list[str] = []
    events = [] if recorded is None else recorded
    floodmark = load(
        invocation_id="mine",
        print=printed.append,
        adapter=SimpleNamespace(
            get_relation=lambda *_: SimpleNamespace(
                is_delta=True, schema="shop", identifier="orders"
            )
        ),
    )
    node = SimpleNamespace(
        schema="shop", alias="orders", name="orders", config={"incremental_strategy": strategy},
        raw_code="select n from orders",
    )  # fmt: skip
    floodmark._check_arguments = lambda *_: None
    floodmark._managed_node = lambda model: node
    watermark = {"column": "n", "start": start, "kind": kind}
    floodmark._node_setting = lambda node, name: cdc if name == "cdc" else watermark
    committed = {"batch_id": 4, "mark": "9", "generation": "g", "family": kind or "sequence"}
    committed["target_id"] = target_id
    known = {"last_batch_id": 4, "finished_id": 4, "landed": None, "committed": committed}
    states = [known | (before or {}), *after]
    floodmark._model_state = lambda id: states.pop(0)
    floodmark._node_upstream = lambda node: {
        "relation": SimpleNamespace(schema="shop", identifier="raw"),
        "family": kind or "sequence",
        "column": "n",
    }
    floodmark._history = lambda *_: [{"version": 4}]
    floodmark._unknown_batch = lambda id, commits, known: unknown
    floodmark._detail = lambda relation: {"id": "t", "files": 1}
    floodmark._forget_commit = lambda: None
    floodmark._record = lambda event, batch, values: events.append(batch)
    floodmark._is_recorded = lambda *_: False
    floodmark._give_up = lambda *_, **more: None
    floodmark._supersede_above = lambda *_: ""
    floodmark.reset("orders", to=to)
    return printed[0]


OWN = {"last_batch_id": 5, "finished_id": 5, "committed": {"batch_id": 5, "invocation_id": "mine"}}


def test_a_reset_that_lost_its_number_says_so() -> None:
    """The last committed batch may be of this invocation all the same: the one that it gave up."""
    assert "is now 7" in reset(OWN, to="7")
    lost = {"last_batch_id": 5, "finished_id": 4, "committed": {"batch_id": 4, "invocation_id": "mine"}}  # fmt: skip
    with pytest.raises(Refused, match="another run is loading it now"):
        reset(lost, to="7")


@pytest.mark.parametrize("to", ["10", "15"])
def test_a_reset_beside_a_batch_that_landed_goes_back_from_its_mark(to: str) -> None:
    """The reset records the batch: what it loaded above the new mark comes again."""
    landed = {"batch_id": 5, "mark": "20", "generation": "g", "family": "sequence"}
    open_batch = {"last_batch_id": 5, "finished_id": 4, "planned": {"batch_id": 5}}
    own = {"batch_id": 6, "invocation_id": "mine"}
    recorded: list[dict[str, Any]] = []
    said = reset(
        {"last_batch_id": 5, "finished_id": 5, "committed": landed},
        {"last_batch_id": 6, "finished_id": 6, "committed": own},
        to=to,
        strategy="append",
        before=open_batch,
        recorded=recorded,
    )
    assert (
        f"is now {to} (it was 20). append loads the rows above it again: delete them first" in said
    )
    assert [(batch["batch_id"], batch["low"]) for batch in recorded] == [(6, "20")]
    # Of a first load there was no mark before it, and its generation goes on.
    reset(
        {"last_batch_id": 1, "finished_id": 1, "committed": landed | {"batch_id": 1}},
        {"last_batch_id": 2, "finished_id": 2, "committed": own | {"batch_id": 2}},
        to=to,
        strategy="append",
        before=open_batch | {"last_batch_id": 1, "finished_id": None, "committed": None},
        recorded=recorded,
    )
    assert (recorded[-1]["low"], recorded[-1]["generation"]) == ("20", "g")
    # Another run that has planned meanwhile has the number.
    with pytest.raises(Refused, match="another run is loading it now"):
        reset(
            {"last_batch_id": 6, "finished_id": 5, "committed": landed},
            {"last_batch_id": 6, "finished_id": 5, "committed": landed},
            to=to,
            before=open_batch,
        )


@pytest.mark.parametrize(
    ("to", "cdc", "told"),
    [
        ("7", {"tombstone_ttl": "1 day"}, True),
        ("7", {"sequence_by": "seq"}, False),
        ("9", {"tombstone_ttl": "1 day"}, False),
        (None, {"tombstone_ttl": "1 day"}, False),
    ],
)
def test_a_reset_tells_of_deletes_that_are_forgotten(
    to: str | None, cdc: dict[str, Any], told: bool
) -> None:
    """What lies below the new mark is not read again."""
    said = reset(OWN, to=to, strategy="cdc", cdc=cdc)
    sentence = "a key whose delete lies below it, and the delete is forgotten by now"
    assert (sentence in said) == told


def test_versions_have_no_reset_without_a_mark() -> None:
    with pytest.raises(Refused, match="name a version with `to`, or use --full-refresh"):
        reset(OWN, kind="version")
    assert "is now none" in reset(OWN, kind="version", start="3")
    assert "is now 3" in reset(OWN, kind="version", to="3")


@pytest.mark.parametrize(
    ("select", "position", "start", "superseded"),
    [
        ("n", 10, None, "`n` > 10"),
        ("n div 5 * 5 as n", 10, None, None),
        ("n", None, 10, "`n` > 9"),
        ("n div 5 * 5 as n", None, 10, None),
        # All come again, whatever their values are.
        ("n div 5 * 5 as n", None, None, "`n` is not null"),
    ],
)
def test_a_reset_supersedes_only_by_the_values_of_the_upstream(
    select: str, position: int | None, start: int | None, superseded: str | None
) -> None:
    """A held row with a value of the SELECT's own may lie on the other side of the mark."""
    done: list[str] = []
    floodmark = load(run_query=lambda sql: SimpleNamespace(rows=[[2]]))
    floodmark._has_quarantine = lambda quarantine: True
    floodmark._columns_of = lambda relation: [{"name": "n", "type": "bigint"}]
    floodmark._quarantine_relation = lambda relation: "quarantine"
    floodmark._execute = done.extend
    batch = {"batch_id": 5, "family": "sequence", "watermark_column": "n"}
    said = floodmark._supersede_above(
        "shop.orders", batch, position, start, f"select id, {select} from raw.orders"
    )
    if superseded:
        assert "are superseded: they come again" in said
        assert [sql.rpartition(" and ")[2] for sql in done] == [superseded]
    else:
        assert "does not tell which of its 2 open rows lie above it: discard" in said
        assert done == []


def test_a_replaced_cdc_table_beside_its_state_table_is_not_reset() -> None:
    """What the state table remembers is of the table before."""
    with pytest.raises(
        Refused, match=r"is not the table that batch 4 left, but its state table is"
    ):
        reset(to="9", strategy="cdc", target_id="another")
