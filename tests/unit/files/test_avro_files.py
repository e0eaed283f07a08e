"""What one look at an Avro file says of those with the same schema. Without Spark."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.macros import load


def looked(heads: dict[str, str | None], unreadable: str) -> tuple[dict[str, Any], list[str]]:
    """What is found of files whose schemas are these texts, and which of them Spark was asked for."""
    floodmark = load()
    asked: list[str] = []

    def columns(_macro: Any, _settings: Any, files: list[dict[str, str]], _options: Any) -> Any:
        [file] = files
        asked.append(file["path"])
        if file["path"] in unreadable:
            return {"value": None, "error": f"{file['path']} is damaged\nat line 1"}
        return {"error": None, "value": [{"name": heads[file["path"]], "ddl": "int"}]}

    floodmark._tried = columns
    floodmark._check_bytes = lambda _settings, _file: None
    floodmark._avro_heads_sql = lambda _settings, _files: ""
    floodmark._query_json = lambda _sql: [{"path": p, "head": head} for p, head in heads.items()]
    files = [{"path": path} for path in heads]
    return floodmark._look_at_avro({"settings": {"files": {}}}, files), asked


@pytest.mark.parametrize("unreadable", ["", "a", "ab", "b", "c", "d", "abcd", "ae"])
def test_a_file_that_cannot_be_read_says_nothing_of_others(unreadable: str) -> None:
    heads = {"a": "s", "b": "s", "c": "s", "d": "s", "e": "t", "f": "t", "g": None}
    look, asked = looked(heads, unreadable)
    found = look["files"]
    # Spark is asked until it has read one of a schema: of what stands behind, the reader tells.
    for head in "st":
        those = [path for path, own in heads.items() if own == head]
        read = [path for path in those if path not in unreadable]
        for path in those:
            if path in unreadable and (not read or path < read[0]):
                assert found[path] == {"reason": f"{path} is damaged"}
            else:
                assert found[path] == {"seen": f"struct<{head}:int>"}
    assert found["g"] == {"reason": "not an Avro data file"}
    assert {path for group in look["groups"] for path in (f["path"] for f in group["files"])} == {
        path for path, file in found.items() if "seen" in file
    }
    assert len({*asked}) <= 2 + len(unreadable)
