"""An artifact is written in one go, and is what dbt writes by itself."""

from __future__ import annotations

import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import jinja2
import pytest
from dbt_common.clients.system import write_json

from dbt_floodmark.adapter.artifacts import write_at_once


def refuse(path: str, data: Any) -> bool:
    raise AssertionError("dbt's own writer was called")


@pytest.mark.parametrize(
    "data",
    [
        {},
        {
            "sql": "select 'é', '\udc80', \"x\" -- \u2028\n",
            "none": None,
            "number": 1.5,
            "nan": float("nan"),
        },
        {"when": datetime.datetime(2026, 11, 30, 1, 2, 3), "date": datetime.date(2026, 11, 30)},
        {"decimal": Decimal("1.10"), "undefined": jinja2.Undefined(), "error": ValueError("no")},
        {1: [True, (2, 3)], "nested": {"a": {"b": []}}},
    ],
)
def test_it_is_what_dbt_writes(tmp_path: Path, data: Any) -> None:
    ours, dbts = tmp_path / "ours" / "manifest.json", tmp_path / "dbts" / "manifest.json"
    assert write_at_once(refuse)(str(ours), data) is True
    write_json(str(dbts), data)
    assert ours.read_bytes() == dbts.read_bytes()


def test_what_json_does_not_take_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_text("{}")
    with pytest.raises(TypeError, match="is not JSON serializable"):
        write_at_once(refuse)(str(path), {"a": object()})
    assert path.read_text() == "{}"
