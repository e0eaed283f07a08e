"""Where a stream keeps its checkpoint: no Spark."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.support.macros import load

PRINTED = "file:/my%20shop%23%257B/ledger.db"
PLAIN = "file:/my shop#%7B/ledger.db"
ID = "shop.events"


@pytest.mark.parametrize(
    ("there", "base"),
    [
        ([], PLAIN),
        ([PLAIN], PLAIN),
        ([PRINTED], PRINTED),
        ([PLAIN, PRINTED], PLAIN),
    ],
)
def test_a_checkpoint_lies_beside_the_ledger(there, base):
    """Spark prints the ledger's place encoded; where an earlier version made the folder of that name, it stays."""
    folders = [f"{one}/_checkpoints/{ID}" for one in there]
    streams = SimpleNamespace(has_folder=lambda path: path in folders)
    floodmark = load(
        run_query=lambda sql: SimpleNamespace(rows=[["Location", PRINTED]]),
        adapter=SimpleNamespace(floodmark_streams=lambda: streams),
    )
    floodmark.ledger_schema = lambda: "ledger"
    assert floodmark._checkpoint_base(None, ID) == f"{base}/_checkpoints/{ID}"
