"""floodmark's own folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbt_floodmark.errors import HomeError
from dbt_floodmark.spark.home import Workplace


def test_a_home_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    workplace = Workplace.session(tmp_path / "taken")
    with pytest.raises(HomeError) as told:
        workplace.create()
    assert str(told.value) == (
        f"{workplace.root} cannot be written (Not a directory). Spark's log, metastore and warehouse belong there: "
        "make it writable, or name another folder in FLOODMARK_HOME."
    )


def test_a_folder_whose_files_cannot_be_written_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that is there already, on a disk that was mounted read-only."""
    workplace = Workplace.session(tmp_path).create()

    def refuse(self: Path) -> None:
        raise OSError(30, "Read-only file system", str(self))

    monkeypatch.setattr(Path, "touch", refuse)
    with pytest.raises(HomeError, match=r"session cannot be written \(Read-only file system\)"):
        workplace.create()
