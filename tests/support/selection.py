"""Which tests a run takes: each rule on one target, and a part of the modules about edge cases.

`FLOODMARK_LAB=full` takes all of them; a run that names rooms, files or tests takes all edge cases there (docs/testing.md).
"""

from __future__ import annotations

import random
import subprocess
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from typing import TypeVar

import pytest

from tests.support.harness import FULL, REPOSITORY

T = TypeVar("T")

#: A run of the whole suite takes one of this many parts of the modules with tests marked `edge`.
PARTS = 60
#: Modules whose edge cases take minutes: no part has two of them.
SLOW = (
    "test_after_loading",
    "test_cdc_altered_tables",
    "test_cdc_changes",
    "test_cdc_memory",
    "test_cdc_rules",
    "test_clock_set_back",
    "test_clocks",
    "test_commands",
    "test_commands_at_the_edge",
    "test_concurrency",
    "test_corrupt_again",
    "test_crash_process",
    "test_dbt_ways",
    "test_disagreements",
    "test_discovery",
    "test_expectations_crash",
    "test_file_crash",
    "test_file_formats",
    "test_file_fuzz",
    "test_first_files",
    "test_held_changes",
    "test_held_rows",
    "test_judged_streams",
    "test_lost_ledger_rows",
    "test_more_watermarks",
    "test_promote",
    "test_random_rules",
    "test_read_again",
    "test_refusals",
    "test_refused_batches",
    "test_replay",
    "test_replay_beside_runs",
    "test_replay_of_changed_models",
    "test_rescued",
    "test_row_values",
    "test_snapshot_diff",
    "test_snapshot_state",
    "test_spark_defaults",
    "test_strategies",
    "test_stream_checks",
    "test_stream_positions",
    "test_superseded",
    "test_versions",
    "test_whole_backfills",
)


def left_out(
    items: Iterable[pytest.Item], targets: Collection[str], is_whole: bool
) -> dict[pytest.Item, str]:
    """Return the tests that this run leaves out, and for each of them the reason: `target` or `edge`."""
    if FULL:
        return {}
    items = list(items)
    others = set(other_edge_modules(items)) if is_whole else set()
    reasons = {}
    for item in items:
        if len(targets) > 1 and _belongs_to_another_target(item):
            reasons[item] = "target"
        elif item.get_closest_marker("edge") and _module(item) in others:
            reasons[item] = "edge"
    return reasons


def other_edge_modules(items: Iterable[pytest.Item]) -> list[str]:
    """Return the modules with tests marked `edge` that are not in this commit's part.

    Those that take minutes are dealt out first. Neighbours in the alphabet, which often load in the same way, are in
    different parts.
    """
    modules = sorted(
        {_module(item) for item in items if item.get_closest_marker("edge")},
        key=lambda module: (_stem(module) not in SLOW, module),
    )
    part = random.Random(commit()).randrange(PARTS)
    return [module for index, module in enumerate(modules) if index % PARTS != part]


def sample(cases: Sequence[T], most: int) -> list[T]:
    """At most ``most`` of a lab's cases in their order, others with each commit, so that all are run over time."""
    if FULL or len(cases) <= most:
        return list(cases)
    chosen = random.Random(commit()).sample(range(len(cases)), most)
    return [cases[index] for index in sorted(chosen)]


@cache
def commit() -> str:
    """Return the hash of the commit that is tested; '' outside a repository."""
    told = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=REPOSITORY, capture_output=True, text=True, check=False
    )
    return told.stdout.strip()


def _belongs_to_another_target(item: pytest.Item) -> bool:
    mark = item.get_closest_marker("long")
    parameters = getattr(item, "callspec", None)
    return (
        mark is not None
        and parameters is not None
        and parameters.params.get("target") not in mark.args
    )


def _module(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


def _stem(module: str) -> str:
    return module.rpartition("/")[2].removesuffix(".py")
