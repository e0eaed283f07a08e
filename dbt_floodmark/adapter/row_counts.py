"""Row counts for dbt's result line, from what Delta's statements return."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dbt.adapters.contracts.connection import AdapterResponse

_COLUMNS = {
    "num_inserted_rows": "inserted",
    "num_updated_rows": "updated",
    "num_deleted_rows": "deleted",
}


@dataclass(frozen=True)
class RowCounts:
    """What one statement wrote: rows affected, and how many in which way."""

    affected: int
    by_kind: tuple[tuple[str, int], ...] = ()

    def response(self) -> AdapterResponse:
        """Return dbt's response, for instance ``OK 12 rows (10 inserted, 2 updated)``."""
        kinds = [f"{count:,} {kind}" for kind, count in self.by_kind if count]
        rows = "row" if self.affected == 1 else "rows"
        detail = f" ({', '.join(kinds)})" if len(kinds) > 1 or (self.by_kind[1:] and kinds) else ""
        return AdapterResponse(
            _message=f"OK {self.affected:,} {rows}{detail}", code="OK", rows_affected=self.affected
        )


def row_counts(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> RowCounts | None:
    """Return the counts in a result of ``num_affected_rows`` and its like, else None."""
    if not columns or columns[0] != "num_affected_rows" or len(rows) != 1:
        return None
    values = dict(zip(columns, rows[0], strict=False))
    if values["num_affected_rows"] is None:
        return None
    kinds = tuple(
        (kind, int(values[column]))
        for column, kind in _COLUMNS.items()
        if values.get(column) is not None
    )
    return RowCounts(int(values["num_affected_rows"]), kinds)
