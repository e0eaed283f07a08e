"""The plan that Spark makes of a DataFrame, node by node."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def plan_nodes(frame: Any) -> Iterator[Any]:
    """Yield the nodes of a DataFrame's analysed plan, each behind its inputs."""
    yield from _upwards(frame._jdf.queryExecution().analyzed())


def inputs_of(node: Any) -> list[Any]:
    """Return the nodes that a node of a plan reads, in their order."""
    children = node.children()
    return [children.apply(index) for index in range(children.size())]


def _upwards(node: Any) -> Iterator[Any]:
    for child in inputs_of(node):
        yield from _upwards(child)
    yield node
