"""Paths of files as patterns, and as they are. Without Spark."""

from __future__ import annotations

from urllib.parse import quote

import pytest

from tests.support.macros import load

floodmark = load()


@pytest.mark.parametrize(
    "name", ["a b", "100%", "ü", "a%20b", "x+y=z", "日本", "a#b?", "%zz", "[1]{2},*\\"]
)
def test_a_path_is_decoded_as_it_was_encoded(name):
    assert floodmark._decoded_path("file:/in/" + quote(name)) == "file:/in/" + name


def test_one_that_was_never_encoded():
    assert floodmark._decoded_path("file:/in/50% off/ü.json") == "file:/in/50% off/ü.json"


def pattern(*paths):
    return floodmark._pattern_of([{"path": path} for path in paths])


def test_patterns():
    assert pattern("file:/in/a.parquet") == "file:/in/a.parquet"
    assert (
        pattern("file:/in/a.parquet", "file:/in/b%20c.parquet")
        == "file:/in/{a.parquet,b c.parquet}"
    )
    assert pattern("file:/in/x/a", "file:/in/y/b", "file:/in/c") == "file:/in/{x/a,y/b,c}"
    assert pattern("file:/in%5B1%5D/a,b", "file:/in%5B1%5D/c") == "file:/in\\[1\\]/{a\\,b,c}"
    assert pattern("s3a://bucket/a/x", "s3a://bucket/ab/y") == "s3a://bucket/{a/x,ab/y}"
