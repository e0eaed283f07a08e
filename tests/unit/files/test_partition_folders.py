"""The folders of a file's path that are columns, whatever the path of the settings looks like. Without Spark."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.support.macros import load

floodmark = load(invocation_args_dict=SimpleNamespace(project_dir="/work/x=1/shop"))


@pytest.mark.parametrize(
    ("path", "file"),
    [
        ("in", "file:/work/x=1/shop/in/day=2/a.csv"),
        ("in/", "file:///work/x=1/shop/in/day=2/a.csv"),
        ("./in", "file:/work/x=1/shop/in/day=2/a.csv"),
        ("../in", "file:/work/x=1/in/day=2/a.csv"),
        ("../../in//here", "file:/work/in/here/day=2/a.csv"),
        ("/data/y=1/../in", "file:/data/in/day=2/a.csv"),
        ("/data/y=1/in", "file:/data/y=1/in/day=2/a.csv"),
        ("../in/day=*", "file:/work/x=1/in/day=2/a.csv"),
        ("s3a://y=1/in", "s3a://y=1/in/day=2/a.csv"),
        ("file:///data/y=1", "file:/data/y=1/day=2/a.csv"),
    ],
)
def test_folders_below_the_path_are_columns(path, file):
    assert floodmark._partition_values({"path": path}, file) == {"day": "2"}
