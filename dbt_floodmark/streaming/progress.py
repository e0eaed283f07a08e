"""What a micro-batch did, from Spark's progress record of it."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class MicroBatch:
    """A micro-batch: its number in the checkpoint, and what Spark tells of it.

    `rows_in` are rows of the sources, `seconds` the whole trigger, `state_rows` what the query
    remembers, `rows_late` what came behind the event-time watermark and was dropped, `watermark`
    that watermark (UTC) and `lag` how far each source goes beyond what was read, in its own unit.
    """

    number: int
    started_at: str
    rows_in: int
    seconds: float
    state_rows: int
    rows_late: int
    watermark: str | None
    lag: str | None

    @classmethod
    def of(cls, progress: Mapping[str, Any], lag: str | None) -> MicroBatch:
        """Read Spark's StreamingQueryProgress."""
        operators = progress.get("stateOperators") or []
        return cls(
            number=int(progress["batchId"]),
            started_at=str(progress["timestamp"]),
            rows_in=int(progress.get("numInputRows") or 0),
            seconds=progress.get("batchDuration", 0) / 1000,
            state_rows=sum(int(one.get("numRowsTotal") or 0) for one in operators),
            rows_late=sum(int(one.get("numRowsDroppedByWatermark") or 0) for one in operators),
            watermark=(progress.get("eventTime") or {}).get("watermark"),
            lag=lag,
        )

    def line(self) -> str:
        """Return the line that `floodmark stream` prints."""
        rate = self.rows_in / self.seconds if self.seconds else 0
        parts = [
            f"batch {self.number}",
            f"{self.rows_in:,} rows in",
            f"{rate:,.0f} rows/s",
            f"{self.seconds:.1f} s",
            f"state {self.state_rows:,} rows",
        ]
        if self.rows_late:
            parts.append(f"{self.rows_late:,} late")
        parts.append(f"lag {self.lag or '–'}")
        return "  ".join(parts)


def is_batch(progress: Mapping[str, Any]) -> bool:
    """Tell whether a progress record is of a batch: Spark writes some while nothing comes, too."""
    return "addBatch" in (progress.get("durationMs") or {})


def parse(query_progress: Any) -> Mapping[str, Any]:
    """Return pyspark's progress object as plain data."""
    return dict(json.loads(query_progress.json))


def lag_text(sources: list[Mapping[str, Any]], behind: Mapping[str, int]) -> str | None:
    """Return how far the sources go beyond what a batch read.

    Args:
        sources: `sources` of a progress record.
        behind: versions of the Delta tables among them that were not read whole, by table id.
    """
    versions = records = 0
    seen = set()
    for source in sources:
        end = _offset(source.get("endOffset"))
        if "reservoirVersion" in end:
            if end["reservoirId"] in behind:
                seen.add("versions")
                versions += behind[end["reservoirId"]]
        elif "Kafka" in str(source.get("description")):
            seen.add("records")
            records += _behind(_offset(source.get("latestOffset")), end)
    parts = []
    if "versions" in seen:
        parts.append(f"{versions:,} version{'' if versions == 1 else 's'}")
    if "records" in seen:
        parts.append(f"{records:,} record{'' if records == 1 else 's'}")
    return " and ".join(parts) or None


def _offset(value: Any) -> dict[str, Any]:
    value = json.loads(value) if isinstance(value, str) else value
    return value if isinstance(value, dict) else {}


def _behind(latest: Mapping[str, Any], end: Mapping[str, Any]) -> int:
    return sum(
        int(offset) - int(end.get(topic, {}).get(partition, 0))
        for topic, partitions in latest.items()
        for partition, offset in partitions.items()
    )


def utc(timestamp: str) -> str:
    """Return Spark's '2026-01-31T06:00:00.000Z' as the ledger has it."""
    value = dt.datetime.fromisoformat(timestamp.replace("Z", "+00:00"))
    return value.astimezone(dt.timezone.utc).strftime("%Y-%m-%d %H:%M:%S.%f")
