"""A row that comes again from another file is the same row; without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.macros import load

FILES = {"path": "landing", "rescued_data_column": "_rescued_data"}
PATHLESS = 'regexp_replace(`_rescued_data`, \',"_file_path":"[^"]*"[}]$\', \'}\')'
SNAPSHOT: dict[str, Any] = {
    "version": None,
    "scd_type": 2,
    "compared": [],
    "excepted": [],
    "output": "table",
}
OWN = ["k", "v", "_rescued_data", "_metadata"]


def columns_of(*names: str) -> list[dict[str, str]]:
    return [{"name": name, "type": "string", "ddl": "string"} for name in names]


def run_of(files: Any = FILES, **snapshot: Any) -> dict[str, Any]:
    settings = {"snapshot": SNAPSHOT | snapshot, "unique_key": ["k"], "files": files,
                "on_schema_change": "append_new_columns"}  # fmt: skip
    return {"settings": settings}


def chosen(run: dict[str, Any], hashed: dict[str, Any]) -> dict[str, Any]:
    """What is compared of a table that says this of its hashes."""
    source: dict[str, Any] = {
        "columns": columns_of(*OWN), "table": columns_of(*OWN), "scd_type": 2, "hashed": hashed,
        "rescued": (run["settings"]["files"] or {}).get("rescued_data_column"),
    }  # fmt: skip
    load(this="t")._choose_compared(run, {"replaces": False}, source)
    return source


@pytest.mark.parametrize(
    ("files", "listed", "compared", "beside"),
    [
        (FILES, [], ["_rescued_data", "v"], []),
        (FILES, ["v"], ["v"], ["_rescued_data"]),
        (FILES, ["v", "_METADATA"], ["_metadata", "v"], ["_rescued_data"]),
        (None, [], ["_metadata", "_rescued_data", "v"], []),
    ],
)
def test_where_a_row_was_read_is_no_change(
    files: Any, listed: list[str], compared: list[str], beside: list[str]
) -> None:
    """It is one where compare_columns asks for it. Hashes of before are made anew, without a word of a column that left."""
    run = run_of(files, compared=listed)
    before = {"compared": ["_metadata", "_rescued_data", "v"], "beside": [], "added": []}
    source = chosen(run, before)
    assert (source["compared"], source["beside"]) == (compared, beside)
    assert source["rehash"] is (files is not None)
    assert run.get("warnings", []) == []
    kept = {"compared": compared, "beside": beside, "added": [], "nested": 3}
    rescued = "_rescued_data" if files else None
    assert chosen(run, kept | {"rescued": rescued})["rehash"] is False
    assert chosen(run, kept)["rehash"] is (files is not None)


def test_the_hash_leaves_the_path_out() -> None:
    floodmark = load(this="t")
    source = chosen(run_of(), {"compared": [], "beside": [], "added": []})
    sql = floodmark._snapshot_hash_sql(source, source["columns"])
    assert sql.count(PATHLESS) == 2 and "`_metadata`" not in sql
    floodmark._snapshot_made_by = lambda snapshot, key: "SCD 2 by k"
    kept = floodmark._snapshot_properties(run_of(), source)["floodmark.compared"]
    assert '"rescued": "_rescued_data"' in floodmark._from_property(kept)
    # What somebody made of it is compared as it is.
    parsed = [{"name": "_rescued_data", "type": "variant", "ddl": "variant"}]
    assert "regexp" not in floodmark._row_hash_sql(parsed, rescued="_rescued_data")
    assert "regexp" not in floodmark._row_hash_sql(columns_of("_rescued_data"))


def test_an_event_that_comes_again_is_the_same() -> None:
    """It starts no row of SCD 2, and is no tie; in merge, neither."""
    asked: list[str] = []
    floodmark = load(this="t")
    floodmark._query_json = lambda sql: asked.append(sql) or [{}]
    cdc = {"tracked": [], "untracked": [], "sequence_by": ["seq"], "column_list": [],
           "except_column_list": [], "reads_feed": False}  # fmt: skip
    run = run_of()
    run["settings"]["cdc"] = cdc
    own = columns_of(*OWN, "seq")
    assert floodmark._tracked_columns(run, own) == ["v", "_rescued_data"]
    assert PATHLESS in floodmark._fingerprint_sql(own, ["_rescued_data"], "_rescued_data")
    cdc["tracked"] = ["_metadata"]
    assert floodmark._tracked_columns(run, own) == ["_metadata"]
    floodmark._event_ties(run, "stage", own)
    assert PATHLESS in asked[-1] and "`_metadata`" not in asked[-1]


def test_a_row_that_is_open_in_the_quarantine_is_known_by_what_it_says() -> None:
    """A corrupt record by its text (of files that say nothing again by its file, too): its columns are all NULL."""
    floodmark, sent = load(this="t"), []
    floodmark._quarantine_relation = lambda relation: "q"
    floodmark._storable = lambda columns: columns
    floodmark._make_quarantine = lambda quarantine, columns: columns_of(*OWN)
    floodmark._quarantined_sql = lambda part, columns, known: "rows"
    floodmark._apply_once = lambda table, batch, sql: sent.append(sql)
    run = run_of(version="V")
    run["settings"]["snapshot"] |= {"compared": [], "excepted": ["source_file"]}
    run["settings"]["unique_key"] = ["id"]
    columns = columns_of("id", "Amount", "source_file")
    assert floodmark._snapshot_reading(run, columns) == ["V", "source_file"]
    run["settings"]["snapshot"] |= {"compared": ["amount"], "excepted": []}
    assert floodmark._snapshot_reading(run, columns) == ["V", "source_file"]
    unlike = ["V", "_metadata"]
    batch = {"batch_id": 2, "model": "m", "generation": "g", "kind": "incremental", "settings": run["settings"]}  # fmt: skip
    by_file = " || ' ' || _floodmark_file, coalesce(_floodmark_raw, '')"
    for given, is_whole, text in (
        (unlike, True, ", ''"), (["_metadata"], False, by_file), ([], False, by_file)
    ):  # fmt: skip
        floodmark._quarantine(batch, columns_of(*OWN), [{}], True, given, is_whole)
        assert PATHLESS in sent[-1]
        assert ("`_metadata`" in sent[-1]) is (given == [])
        known = f"if(_floodmark_rules is null, _floodmark_raw{text})"
        assert f"{known} as _floodmark_text" in sent[-1]
        assert f"{known} as _floodmark_open_text from q" in sent[-1]
        assert "and _floodmark_text = _floodmark_open_text" in sent[-1]
