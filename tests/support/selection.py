"""Which tests a run takes: each rule on one target, and the edge cases of one module.

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
    """Return the modules with tests marked `edge`, but for the one that this commit's hash picks."""
    modules = sorted({_module(item) for item in items if item.get_closest_marker("edge")})
    if not modules:
        return []
    picked = random.Random(commit()).choice(modules)
    return [module for module in modules if module != picked]


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
