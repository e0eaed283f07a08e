"""SEMANTICS.md, "Snapshots", in plain Python: what a table must hold after a series of snapshots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

#: A snapshot: its version, and the values of each key.
Snapshot = tuple[int, Mapping[str, tuple[Any, ...]]]


def scd1(
    snapshots: Iterable[Snapshot],
    on_missing: str = "delete",
    compared: Sequence[int] | None = None,
) -> dict[str, tuple[Any, ...]]:
    """The row of each key: written where a compared value differs. With `mark` it ends in (is_missing, missing_at)."""
    rows: dict[str, tuple[Any, ...]] = {}
    marks: dict[str, tuple[bool, int | None]] = {}
    for version, snapshot in snapshots:
        for key, values in snapshot.items():
            known = rows.get(key)
            is_back = marks.get(key, (False, None))[0]
            if known is None or _differ(known, values, compared) or is_back:
                rows[key] = values
            marks[key] = (False, None)
        for key in [key for key in rows if key not in snapshot]:
            if on_missing == "delete":
                del rows[key]
            elif not marks[key][0]:
                marks[key] = (True, version)
    return {key: row + marks[key] if on_missing == "mark" else row for key, row in rows.items()}


def scd2(
    snapshots: Iterable[Snapshot],
    on_missing: str = "delete",
    compared: Sequence[int] | None = None,
) -> dict[str, list[tuple[Any, ...]]]:
    """The rows of each key, (*values, start, end): what is not compared is kept up in the open row."""
    history: dict[str, list[tuple[Any, ...]]] = {}
    for version, snapshot in snapshots:
        for key, values in snapshot.items():
            rows = history.setdefault(key, [])
            if not rows or rows[-1][-1] is not None:
                rows.append((*values, version, None))
            elif _differ(rows[-1][:-2], values, compared):
                rows[-1] = (*rows[-1][:-1], version)
                rows.append((*values, version, None))
            else:
                rows[-1] = (*values, *rows[-1][-2:])
        for key, rows in history.items():
            if key not in snapshot and on_missing == "delete" and rows[-1][-1] is None:
                rows[-1] = (*rows[-1][:-1], version)
    return history


def _differ(one: Sequence[Any], other: Sequence[Any], compared: Sequence[int] | None) -> bool:
    at = range(len(other)) if compared is None else compared
    return any(one[i] != other[i] for i in at)
