"""What ``floodmark demo`` says of odd files and refused rows; ledger and quarantine know it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

#: A statement's rows, on whatever Spark it runs.
Query = Callable[[str], Sequence[Sequence[Any]]]

_SHOWN = 10
_LETTERS = 60

_BATCHES = "select model, batch_id, invocation_id from {ledger}.batches where state = 'committed'"
_ADDED = (
    "select distinct model, batch_id, version, added from {ledger}.file_schemas "
    "where added <> '[]' order by model, batch_id"
)
#: What each file gave, which batch had its path before, and the newest time in batches before.
_FILES = """
select model, batch_id, path, rows_rescued, rows_quarantined, had_before,
    modified_at < newest_before and had_before is null as is_old, cast(modified_at as string)
from (
    select *, lag(batch_id) over (partition by model, path order by batch_id) as had_before,
        max(modified_at) over (partition by model order by batch_id
            range between unbounded preceding and 1 preceding) as newest_before
    from {ledger}.files where state in ('committed', 'quarantined')
)
order by model, batch_id, path
"""
_QUARANTINED = (
    "select _floodmark_file, _floodmark_line, _floodmark_reason, _floodmark_raw "
    "from {model}__quarantine where _floodmark_batch_id = {batch_id} order by 1, 2 limit {shown}"
)
_RESCUED = (
    "select source_file, _rescued_data from {model} where _rescued_data is not null "
    "and source_file in ({paths}) order by 1, 2 limit {shown}"
)

_RULED = (
    "select model, batch_id from {ledger}.expectation_results "
    "where action = 'quarantine' and violations > 0 group by model, batch_id"
)
_REFUSED = (
    "select _floodmark_reason, _floodmark_state, to_json(struct(*)) "
    "from {model}__quarantine where _floodmark_batch_id = {batch_id} "
    "and size(_floodmark_rules) > 0 order by 3 limit {shown}"
)

_Batch = tuple[str, int]


class Oddity(NamedTuple):
    """One odd thing that a run of a model met in its files."""

    run: int
    model: str
    what: str
    file: str | None
    line: int | None
    detail: str


class Refusal(NamedTuple):
    """A row that a run moved to the quarantine, why, and what became of it."""

    run: int
    model: str
    reason: str
    state: str
    row: str


def odd_files(query: Query, ledger: str, runs: Mapping[str, int]) -> list[Oddity]:
    """Return what was odd in the files of these runs, ``{invocation id: number}``.

    Columns that were added, lines in the quarantine, values in the rescued data, files that
    replaced what an earlier batch had loaded, and files older than those of batches before.
    """
    numbers = _numbers(query, ledger, runs)
    found = [*_added(query, ledger, numbers), *_of_files(query, ledger, numbers)]
    return sorted(found, key=lambda one: (one.run, one.model))


def refused_rows(query: Query, ledger: str, runs: Mapping[str, int]) -> list[Refusal]:
    """Return rows that these runs, ``{invocation id: number}``, quarantined by rules."""
    numbers = _numbers(query, ledger, runs)
    found = []
    for model, batch_id in query(_RULED.format(ledger=ledger)):
        number = numbers.get((model, int(batch_id)))
        sql = _REFUSED.format(model=model, batch_id=batch_id, shown=_SHOWN)
        for reason, state, row in query(sql) if number else ():
            found.append(Refusal(number or 0, model, reason, state, _short(row)))
    return sorted(found)


def _numbers(query: Query, ledger: str, runs: Mapping[str, int]) -> dict[_Batch, int]:
    """The number of the run of each batch."""
    return {
        (model, int(batch_id)): runs[invocation]
        for model, batch_id, invocation in query(_BATCHES.format(ledger=ledger))
        if invocation in runs
    }


def _added(query: Query, ledger: str, numbers: Mapping[_Batch, int]) -> Iterator[Oddity]:
    for model, batch_id, version, added in query(_ADDED.format(ledger=ledger)):
        number = numbers.get((model, int(batch_id)))
        for path in json.loads(added) if number else ():
            detail = f"the column {'.'.join(path)}, in version {version} of the schema"
            yield Oddity(number or 0, model, "added", None, None, detail)


def _of_files(query: Query, ledger: str, numbers: Mapping[_Batch, int]) -> Iterator[Oddity]:
    batches: dict[_Batch, list[Sequence[Any]]] = {}
    for model, batch_id, *file in query(_FILES.format(ledger=ledger)):
        batches.setdefault((model, int(batch_id)), []).append(file)
    for batch, files in batches.items():
        number = numbers.get(batch)
        for what, path, line, detail in _things(query, *batch, files) if number else ():
            yield Oddity(number or 0, batch[0], what, path.rpartition("/")[2], line, detail)


def _things(
    query: Query, model: str, batch_id: int, files: Sequence[Sequence[Any]]
) -> Iterator[tuple[str, str, int | None, str]]:
    """What was odd in the files of a batch: the kind, path, line, and what it was."""
    if any(quarantined for _, _, quarantined, *_ in files):
        sql = _QUARANTINED.format(model=model, batch_id=batch_id, shown=_SHOWN)
        for path, line, reason, raw in query(sql):
            yield "quarantined", path, line, _short(f"{reason}: {raw}" if raw else reason)
    rescued = [path for path, rows_rescued, *_ in files if rows_rescued]
    if rescued:
        sql = _RESCUED.format(model=model, paths=_literals(rescued), shown=_SHOWN)
        for path, text in query(sql):
            values = json.loads(text)
            values.pop("_file_path", None)
            yield "rescued", path, None, _short(json.dumps(values, ensure_ascii=False))
    for path, _, _, had_before, is_old, modified_at in files:
        if had_before is not None:
            yield "replaced", path, None, f"its rows of batch {had_before}"
        elif is_old:
            yield "old", path, None, f"modified {modified_at}, before files of earlier batches"


def _short(text: str) -> str:
    return text if len(text) <= _LETTERS else f"{text[:_LETTERS]}…"


def _literals(paths: Sequence[str]) -> str:
    return ", ".join("'" + path.replace("\\", "\\\\").replace("'", "\\'") + "'" for path in paths)
