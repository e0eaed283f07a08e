"""Paths of files as patterns, and as they are. Without Spark."""

from __future__ import annotations

import re
from types import SimpleNamespace
from urllib.parse import quote

import pytest

from dbt_floodmark.paths import glob_regex, path_pattern
from tests.support.macros import load

floodmark = load()


@pytest.mark.parametrize(
    "name", ["a b", "100%", "ü", "a%20b", "x+y=z", "日本", "a#b?", "%zz", "[1]{2},*\\"]
)
def test_a_path_is_decoded_as_it_was_encoded(name):
    assert floodmark._decoded_path("file:/in/" + quote(name)) == "file:/in/" + name


def test_one_that_was_never_encoded():
    assert floodmark._decoded_path("file:/in/50% off/ü.json") == "file:/in/50% off/ü.json"


@pytest.mark.parametrize(
    ("pattern", "inside", "outside"),
    [
        ("a{b", ["ab"], ["a{b", "a"]),
        ("a{b{c,d", ["abc", "abd"], ["ab"]),
        ("a}b,c", ["a}b,c"], ["ab"]),
        ("{a,b*}?[!x]", ["a12", "bcd12"], ["a1x", "c12", "a/2"]),
        (r"\{a\}", ["{a}"], ["a"]),
    ],
)
def test_both_regexes_of_a_pattern_say_the_same(pattern, inside, outside):
    """A bracket that is not closed ends with the pattern."""
    assert floodmark._glob_regex(pattern) == glob_regex(pattern)
    regex = re.compile(glob_regex(pattern))
    assert [one for one in inside if not regex.fullmatch(one)] == []
    assert [one for one in outside if regex.fullmatch(one)] == []


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


@pytest.mark.parametrize(
    ("path", "inside", "outside"),
    [
        (
            "/in",
            ["file:/in/a", "file:///in/k=v", "hdfs://n:1/in/a"],
            ["file:/in/k=v/a", "file:/x/in/a"],
        ),
        ("/in/", ["file:/in/a"], ["file:/in/b/a"]),
        ("/in/../on", ["file:/on/a"], ["file:/in/a"]),
        ("file:///in/*", ["file:/in/a/b", "file:/in/b"], ["file:/in/a/b/c"]),
        ("/in/{a/b,c}", ["file:/in/a/b/x", "file:/in/c/x"], ["file:/in/c/d/x", "file:/in/a/x"]),
        ("/in/20[!3]?", ["file:/in/2024/x"], ["file:/in/2034/x", "file:/in/202/x"]),
        (r"/in/\[a\]", ["file:/in/[a]/x"], ["file:/in/a/x"]),
        ("s3a://b/in.d", ["s3a://b/in.d/x"], ["s3a://b/in_d/x", "s3a://b/in.d/e/x"]),
        (
            "hdfs:///in",
            ["hdfs://n:1/in/a", "hdfs:/in/a"],
            ["file:/in/a", "hdfs://n:1/in/b/a", "hdfs://in/a"],
        ),
        ("hdfs:/in/../on/", ["hdfs://n:1/on/a"], ["hdfs://n:1/in/a"]),
        ("/in/a,b", ["file:/in/a,b/x"], ["file:/in/a/x"]),
    ],
)
def test_files_that_lie_in_the_folder_itself(path, inside, outside):
    sql = floodmark._place_terms({"path": path, "recursive": False})[0]
    [text] = re.findall(r"rlike '(.*)'$", sql)
    regex = re.compile(text.replace("\\\\", "\\"))
    assert [one for one in inside if not regex.search(one)] == []
    assert [one for one in outside if regex.search(one)] == []


@pytest.mark.parametrize(
    ("path", "shown", "hidden"),
    [
        (
            "/landing/*",
            ["file:/landing/shop/a.json", "file:///landing/k_1/a", "hdfs://n:1/landing/_k=v/a"],
            ["file:///landing/_tmp/a.json", "file:/landing/x/.b/a", "hdfs://n:1/landing/_a.json"],
        ),
        ("/_in/.x/*", ["file:/_in/.x/a", "file:///_in/.x/b/a"], ["file:///_in/.x/_a"]),
        ("file:///in/2024-*/x", ["file:/in/2024-05/x/a"], ["file:/in/2024-05/x/.a"]),
        ("s3a://_b/in/{x,y}", ["s3a://_b/in/x/a"], ["s3a://_b/in/x/_a"]),
        ("hdfs:///in/*", ["hdfs://_n:1/in/x/a"], ["hdfs://_n:1/in/_x/a"]),
        ("hdfs:///*", ["hdfs://_n:1/in/a"], ["hdfs://_n:1/_in/a"]),
        ("/*", ["file:/a/b"], ["file:/_a/b", "file:///_a/b"]),
    ],
)
def test_what_a_pattern_does_not_match(path, shown, hidden):
    [sql] = floodmark._place_terms({"path": path, "recursive": True})
    [text] = re.findall(r"^not .* rlike '(.*)'$", sql)
    regex = re.compile(text.replace("\\\\", "\\"))
    assert [one for one in shown if regex.search(one)] == []
    assert [one for one in hidden if not regex.search(one)] == []


@pytest.mark.parametrize(
    "path", ["/in", "/_in/_x", "/in/_raw*", "/in/*/_raw", "/in/{a,_b}", r"/in/\[a\]", "s3a://b/in"]
)
def test_a_path_that_hides_nothing(path):
    assert floodmark._place_terms({"path": path, "recursive": True}) == []


def test_a_stream_leaves_out_what_a_pattern_does_not_match():
    macros = load()
    macros._stream_source = lambda *_: "the_stream"
    settings = {"glob": "*", "recursive": True, "max_bytes_per_batch": None}
    settings |= {"max_files_per_batch": 10}
    assert macros._files_stream(settings | {"path": "/in"}, "text") == "the_stream"
    filtered = macros._files_stream(settings | {"path": "/in/*"}, "text")
    assert filtered.startswith("(select *, _metadata from the_stream where not coalesce(")


def test_every_reader_looks_below_by_itself_and_passes_over_no_file():
    settings = {"path": "/in", "glob": "*", "recursive": False, "format": "text"}
    settings |= {"modified_after": None, "modified_before": None, "options": {}}
    settings |= {"single_variant_column": None}
    assert "recursiveFileLookup = 'true'" in floodmark._files_options(settings)
    window = floodmark._window_options(settings)
    assert window["recursiveFileLookup"] == "true"
    for name in ("ignoreCorruptFiles", "ignoreMissingFiles"):
        assert f", '{name}' = 'false'" in floodmark._files_options(settings)
        assert window[name] == "false"
    assert " rlike '^" in floodmark._folder_files_sql(settings)
    assert "rlike" not in floodmark._folder_files_sql(settings | {"recursive": True})


@pytest.fixture
def on_disk(tmp_path):
    """The macros in a project's folder whose name looks like a pattern."""
    project = tmp_path / "shop [old]"
    (project / "data" / "in {1}").mkdir(parents=True)
    plugin = SimpleNamespace(floodmark_path_pattern=path_pattern)
    return load(adapter=plugin), str(project)


def test_what_exists_under_its_name_is_no_pattern(on_disk):
    macros, project = on_disk
    assert macros._plain_path(f"{project}/data/in {{1}}") == f"{project}/data/in {{1}}"
    assert macros._plain_path(f"file://{project}/data/in_*/x") == f"{project}/data"
    assert macros._plain_path(f"{project}/nowhere [1]/x") == project
    assert macros._plain_path("s3a://b/in/20[12]?/x") == "s3a://b/in"


@pytest.mark.parametrize(
    ("archive", "path", "may"),
    [
        ("data/archive", "data/in {1}", False),
        ("data/in {1}", "data/in {1}", True),
        ("data/in {1}/old", "data/in {1}", True),
        ("data/in {1}/../old", "data/in {1}", False),
        ("data/archive", "data/in_*", False),
        ("data/in_old", "data/in_*", True),
        ("data/in_1/old", "data/in_*", True),
        ("data/in_1", "data/in_*/x", True),
        ("data/in_1/y", "data/in_*/x", False),
        ("data", "data/in_*", True),
        (".", "data/in_*", False),
        ("data/archive", "data/{in,archive/x}", True),
        ("archive", "data/{in,out}", False),
        ("data/old", "data/{in,out}", False),
        ("data/in/old", "data/{in,out}", True),
        ("data/old", "data/{in,o*}", True),
        ("data/old", "data/{in,{out,old}}", True),
        ("data/in/old", "data/{in/{a,b},out}", True),
        ("data", "data/{in,out}", True),
        ("data/old/in", "data/{in,old/in}", True),
    ],
)
def test_an_archive_that_the_model_would_read(on_disk, archive, path, may):
    macros, project = on_disk
    assert macros._may_lie_below(f"{project}/{archive}", f"{project}/{path}") is may
