"""SEMANTICS.md, "CDC", in plain Python: what a table must hold after a key's events, in whatever order they came."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Event:
    """One change of one key; ``op`` is u (upsert), d (delete) or t (truncate, of no key)."""

    op: str
    sequence: int
    values: tuple[Any, ...] = ()


def parse(history: str) -> list[list[Event]]:
    """The notation of SEMANTICS.md, `ua@10 d@20 / ux@15`, as batches of events."""
    batches = []
    for batch in history.split("/"):
        found = re.findall(r"([udt])(\w*)@(\d+)", batch)
        batches.append([Event(op, int(at), (value,) if value else ()) for op, value, at in found])
    return batches


def scd1(events: Iterable[Event], ignoring: Sequence[int] = ()) -> tuple[Any, ...] | None:
    """The row of a key, or None: the greatest sequence decides, and an upsert beats a delete of its sequence.

    The values at the positions `ignoring` are those of the last event since the delete that had one.
    """
    known = list(events)
    floor = max((event.sequence for event in known if event.op == "t"), default=-1)
    alive = [event for event in known if event.op != "t" and event.sequence >= floor]
    last = max(alive, key=lambda event: (event.sequence, event.op == "u"), default=None)
    if last is None or last.op == "d":
        return None
    deleted = max((event.sequence for event in alive if event.op == "d"), default=-1)
    upserts = [event for event in alive if event.op == "u" and event.sequence >= deleted]
    return tuple(fill(upserts, last.values, ignoring))


def fill(upserts: Iterable[Event], values: Sequence[Any], ignoring: Sequence[int]) -> Iterator[Any]:
    """The values, those at `ignoring` from the last of the upserts that has one."""
    latest = sorted(upserts, key=lambda event: event.sequence, reverse=True)
    for i, value in enumerate(values):
        found = (event.values[i] for event in latest if event.values[i] is not None)
        yield next(found, None) if i in ignoring else value


def scd2(
    events: Iterable[Event], tracked: slice = slice(None), ignoring: Sequence[int] = ()
) -> list[tuple[Any, ...]]:
    """The rows of a key, (*values, start, end): runs of upserts with equal tracked values, half open."""
    line: dict[int, Event] = {}
    for event in events:
        known = line.get(event.sequence)
        if known is None or event.op == "d":  # a delete beats an upsert of its sequence
            line[event.sequence] = event if known is None or known.op != "d" else known
    rows: list[tuple[Any, ...]] = []
    run: list[Event] = []
    since: list[Event] = []
    for event in [*(line[at] for at in sorted(line)), None]:
        if event and event.op == "d":
            since = []
        elif event:
            since.append(event)
            event = Event("u", event.sequence, tuple(fill(since, event.values, ignoring)))
        same = (
            event and event.op == "u" and run and event.values[tracked] == run[-1].values[tracked]
        )
        if run and not same:
            rows.append((*run[-1].values, run[0].sequence, event.sequence if event else None))
            run = []
        if event and event.op == "u":
            run.append(event)
    return rows
