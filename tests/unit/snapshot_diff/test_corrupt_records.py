"""Snapshots with corrupt records, whose keys nobody knows, and extracts that wait together; without Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load

ONE_EACH = "If each file is a snapshot, set files.max_files_per_batch to 1"
SKIPS = (
    "Later files wait until this one is corrected, or left out: `floodmark files <model> --skip "
)


def run_of(on_missing: str, **more: Any) -> dict[str, Any]:
    snapshot = {
        "on_missing": on_missing,
        "output": "table",
        "scd_type": 1,
        "version": None,
        "scope": None,
        "allow_empty": False,
    } | more
    files = {"path": "landing"}
    return {"settings": {"snapshot": snapshot, "unique_key": ["id"], "files": files, "watermark": None},
            "state": {"committed": None}, "partitions": []}  # fmt: skip


def source() -> dict[str, Any]:
    columns = [{"name": name, "type": "int", "ddl": "int"} for name in ("id", "v")]
    return {"columns": columns, "compared": ["v"], "beside": [], "scd_type": 1, "rehash": False, "family": "date"}  # fmt: skip


@pytest.mark.parametrize(
    ("on_missing", "corrupt", "is_missing"),
    [
        ("delete", None, True),
        ("delete", 0, True),
        ("delete", 1, False),
        ("mark", 0, True),
        ("mark", 2, False),
        ("ignore", 2, False),
    ],
)
def test_no_key_is_missing_beside_a_corrupt_record(
    on_missing: str, corrupt: int | None, is_missing: bool
) -> None:
    """It may be that key's, and its row would be deleted."""
    floodmark, run = load(this="t"), run_of(on_missing)
    batch = {"rows_corrupt": corrupt} if corrupt is not None else {}
    read = source() | {"counts": {}}
    floodmark._count_unknown_keys(run, batch, read)
    sql = floodmark._difference_sql(run, read, "select 1", "v1")
    assert ("as n full outer join" in sql, "as n left outer join" in sql) == (
        is_missing,
        not is_missing,
    )
    warned = run.get("warnings", [])
    assert len(warned) == (1 if corrupt and on_missing != "ignore" else 0)
    if warned:
        said = {
            1: "1 record is corrupt, and nobody can tell which key it has, ",
            2: "2 records are corrupt, and nobody can tell which key they have, ",
        }
        assert warned[0] == said[corrupt or 0] + (
            "so no key of this snapshot counts as missing: the rows of keys that did not come stay as they are"
        )


@pytest.mark.parametrize(
    ("on_missing", "keyless", "corrupt", "said"),
    [
        ("delete", 1, 0, "1 row that a rule holds back has no id, and nobody can tell which key it has, "),
        ("mark", 2, 1, "1 record is corrupt, and 2 rows that rules hold back have no id, and nobody can tell which key they have, "),
        ("delete", 0, 0, None),
        ("ignore", 1, 0, None),
    ],
)  # fmt: skip
def test_no_key_is_missing_beside_a_held_row_without_one(
    on_missing: str, keyless: int, corrupt: int, said: str | None
) -> None:
    asked: list[str] = []
    floodmark = load(
        this="t", run_query=lambda sql: asked.append(sql) or SimpleNamespace(rows=[[keyless]])
    )
    floodmark._judged_relation = lambda batch: "judged"
    floodmark._broken_sql = lambda rules, actions: "broken"
    run, read = run_of(on_missing), source() | {"counts": {}}
    judged = {"rows_dropped": 0, "rows_quarantined": 3}
    batch = {"judged": judged, "rows_corrupt": corrupt, "rules": []}
    floodmark._count_unknown_keys(run, batch, read)
    query = "select count(*) as n from (select `id` from judged where broken) where (`id` is null)"
    assert asked == ([] if on_missing == "ignore" else [query])
    assert floodmark._has_missing(run, read) is (said is None and on_missing != "ignore")
    more = "so no key of this snapshot counts as missing: the rows of keys that did not come stay as they are"
    assert run.get("warnings", []) == ([said + more] if said else [])
    # Nothing is held: nothing is asked.
    asked.clear()
    floodmark._count_unknown_keys(run, {}, read)
    assert asked == [] and floodmark._has_missing(run, read) is (on_missing != "ignore")


@pytest.mark.parametrize("version", [None, "day"])
def test_a_snapshot_whose_records_are_all_corrupt_is_not_empty(version: str | None) -> None:
    floodmark = load()
    counts = {"rows_read": 0, "least": None, "greatest": None, "unversioned": 0}
    floodmark._read_counts = lambda run, source, sql: dict(counts)
    run = run_of("delete", version=version, scd_type=2)
    found = floodmark._snapshot_counts(run, {"begins": False, "rows_corrupt": 3}, source(), "s")
    assert found["is_held"] and "version" not in found
    floodmark._refuse_snapshot = lambda batch, what, todo: floodmark._stop(what + ". " + todo)
    with pytest.raises(Refused, match="the snapshot is empty"):
        floodmark._snapshot_counts(run, {"begins": False, "rows_corrupt": 0}, source(), "s")


def files_of(*names: str) -> list[dict[str, str]]:
    return [{"path": f"file:/landing/{name}"} for name in names]


def refusing(**context: Any) -> SimpleNamespace:
    floodmark = load(**context)
    floodmark._difference_relation = lambda batch: "difference"
    floodmark._drop_staging_tables = lambda relations: None
    return floodmark


def test_files_that_wait_together_are_told_how_to_come_apart() -> None:
    """Each file is an extract of a day, and a batch takes them all."""
    shown = SimpleNamespace(
        rows=[{"n": 1}], columns={"named": SimpleNamespace(values=lambda: ["k"])}
    )
    floodmark = refusing(run_query=lambda sql: shown)
    for files, told in (([], ""), (files_of("a"), SKIPS), (files_of("a", "b"), ONE_EACH)):
        with pytest.raises(Refused) as refused:
            floodmark._check_snapshot_keys(
                run_of("delete"), {"files": files}, {"repeated": 1}, "select 1"
            )
        assert f"gives each key once. {told}".rstrip(". ") in str(refused.value)
        assert (SKIPS in str(refused.value)) is (told == SKIPS)
    counts = {"rows_read": 2, "least": "2024-05-01", "greatest": "2024-05-02", "unversioned": 0}
    floodmark._read_counts = lambda run, source, sql: dict(counts)
    with pytest.raises(Refused) as refused:
        floodmark._snapshot_counts(
            run_of("delete", version="day"),
            {"begins": False, "files": files_of("a", "b")},
            source(),
            "",
        )
    assert f"a snapshot has one. {ONE_EACH}. To leave a file out: `floodmark" in str(refused.value)


@pytest.mark.parametrize(
    ("name", "shown"),
    [("d2.csv", "d2.csv"), ("d%202%C3%BC.csv", '"d 2ü.csv"'), ("day=1/d.csv", "d.csv")],
)
def test_a_file_that_cannot_be_loaded_is_named(name: str, shown: str) -> None:
    """It stays the first of those that wait; a full refresh reads it too."""
    floodmark = refusing()
    day = {"rows_read": 1, "least": "2024-05-01", "greatest": "2024-05-01", "unversioned": 0}
    none = {"rows_read": 0, "least": None, "greatest": None, "unversioned": 0}
    run = run_of("delete", version="day")
    run["state"] = {"committed": {"mark": "2024-05-02 00:00:00.000000", "family": "date", "rows_read": 1}}  # fmt: skip
    batch = {"begins": False, "files": files_of(name)}
    for counts, said in (
        (day, "versions must ascend. "),
        (none, "set snapshot_diff.allow_empty. "),
    ):
        floodmark._read_counts = lambda run, source, sql, found=counts: dict(found)
        with pytest.raises(Refused) as refused:
            floodmark._snapshot_counts(run, batch, source(), "")
        assert f"{said}{SKIPS}{shown}`" in str(refused.value)
        assert "full-refresh" not in str(refused.value)
    # What moves is read again.
    with pytest.raises(Refused) as refused:
        floodmark._refuse_moving(batch)
    assert str(refused.value).endswith("run again when the source no longer changes")
