"""Paths and patterns, files of a checkpoint, what is said of them: no Spark."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from pyspark.errors import AnalysisException

from dbt_floodmark import paths
from dbt_floodmark.spark.messages import readable
from dbt_floodmark.streaming import checkpoint, position, sources
from dbt_floodmark.streaming.advice import explain


def test_what_exists_under_its_very_name_means_itself(tmp_path):
    root = tmp_path / "shop [old] {1}"
    (root / "a*b").mkdir(parents=True)
    escaped = f"{tmp_path}/shop \\[old\\] \\{{1\\}}"
    for given, expected in {
        f"{root}": escaped,
        f"{root}/in": f"{escaped}/in",
        f"{root}/in/*/[ab]": f"{escaped}/in/*/[ab]",
        f"{root}/a*b/c*": f"{escaped}/a\\*b/c*",
        f"{root}/a*c": f"{escaped}/a*c",
        f"file:{root}/x?": f"file:{escaped}/x?",
        f"file://{root}/x?": f"file://{escaped}/x?",
        f"{escaped}/in": f"{escaped}/in",
        "/nowhere/[ab]*": "/nowhere/[ab]*",
        "s3a://bucket/[ab]*": "s3a://bucket/[ab]*",
        "/": "/",
        "*": "*",
    }.items():
        assert paths.path_pattern(given) == expected
    assert not paths.is_glob(escaped) and paths.is_glob(f"{escaped}/*") and paths.is_glob("/a[")
    assert paths.is_pattern("a\\b") and not paths.is_pattern("a b,c#%")


@pytest.mark.parametrize(
    ("pattern", "folder"),
    [
        ("/in/*.json", "/in"),
        ("/in/a?/b", "/in"),
        (r"/shop \[old\]/in/{a,b}/c", "/shop [old]/in"),
        ("s3a://bucket/[ab]*", "s3a://bucket"),
        ("/*", "/"),
    ],
)
def test_the_folder_in_which_a_pattern_begins(pattern, folder):
    assert paths.glob_folder(pattern) == folder


class Lists:
    """A Spark that finds nothing by any path, and of whose folders one exists."""

    def __init__(self, folder):
        self.read = self
        self._jsparkSession = SimpleNamespace(
            sessionState=lambda: SimpleNamespace(newHadoopConf=lambda: None)
        )

        def place(path):
            exists = SimpleNamespace(exists=lambda place: path == f"{folder}/")
            return SimpleNamespace(getFileSystem=lambda conf: exists)

        self._jvm = SimpleNamespace(
            org=SimpleNamespace(
                apache=SimpleNamespace(hadoop=SimpleNamespace(fs=SimpleNamespace(Path=place)))
            )
        )

    def format(self, *given):
        return self

    option = format

    def load(self, path):
        raise AnalysisException(f"[PATH_NOT_FOUND] Path does not exist: {path}.")


def test_a_pattern_that_matches_nothing_is_as_an_empty_folder():
    """Each file that comes is read once, whatever its name. Where the folder before the pattern is gone, it is named."""
    source = sources.Source("v", "json", {"schema": "id int"}, "/nowhere/in/*.json")
    once = sources._read_once(Lists("/nowhere/in"), source)
    assert once.path == source.path
    assert once.options == {"schema": "id int", "recursiveFileLookup": "true"}
    with pytest.raises(sources.SourceGoneError, match="the folder /nowhere/in, which it reads, is"):
        sources._read_once(Lists("/elsewhere"), source)
    for path in ("/nowhere/in", "/nowhere"):
        plain = sources.Source("v", "json", {}, path)
        with pytest.raises(sources.SourceGoneError, match=f"the folder {path}, which it reads"):
            sources._read_once(Lists("/nowhere"), plain)


@pytest.mark.parametrize(
    ("path", "found"),
    [("/a", True), ("a b", True), ("file:/a", True), ("file:///a", True), ("s3a://b/a", False), ("hdfs:/a", False), ("/a:b/c", True)],
)  # fmt: skip
def test_which_paths_are_local(path, found):
    assert paths.is_local(path) is found


@pytest.mark.parametrize(
    ("file", "path", "found"),
    [
        ("file:/in/a", "/in", False),
        ("file:/in/a", "/in/", False),
        ("file:/in/a/b", "/in", True),
        ("file:/in/a/b", "/in/*", False),
        ("file:/in/a", "/in/*", False),
        ("file:/in/a/b", "file:///in", True),
        ("s3a://bucket/in/a", "s3a://bucket/in", False),
        ("s3a://bucket/in/a/b", "s3a://bucket/in", True),
        # Folders k=v are read, however deep they lie and however the path is written.
        ("file:/in/k=1/a", "/in", False),
        ("file:/in/x/k=1/a", "file:///in", False),
        ("file:/in/x/k=1/a", "/in/*", False),
        ("file:/k=1/in/a/b", "/k=1/in", True),
        ("file:/in/x/a=b", "/in", True),
    ],
)
def test_which_files_a_stream_passes_over(file, path, found):
    assert sources.is_passed_over(file, path) is found


@pytest.mark.parametrize("path", ["/in", "file:/in", "file:///in"])
def test_files_of_partitions_that_are_gone(path, monkeypatch):
    """`reconcile` cannot read them again, and those in other folders below were never read."""
    monkeypatch.setattr(position, "_files_there", lambda spark, source: [])
    stream = sources.Stream("", source=sources.Source("v", "json", {}, path))
    read = {"file:/in/day=2024-05-01/a", "file:/in/other/b"}
    with pytest.raises(position.FloodmarkError, match=r"\(1, such as file:/in/day=2024-05-01/a\)"):
        position._files_as_read(None, stream, path, read)


class Checkpointed:
    """The files of a checkpoint, as `Folder` shows them."""

    path = "file:/ck"

    def __init__(self, files):
        self.files = files

    def read(self, child, most=None):
        text = self.files.get(child)
        return text and text[:most]

    def names(self, child=""):
        prefix = f"{child}/" if child else ""
        below = (name[len(prefix) :] for name in self.files if name.startswith(prefix))
        return sorted({name.split("/")[0] for name in below})


def log(*files):
    return "\n".join(["v1", *(json.dumps({"path": one, "batchId": 0}) for one in files)])


WHOLE = {
    "metadata": '{"id": "q"}',
    "offsets/2": 'v1\n{}\n{"logOffset":2}\n-',
    "offsets/3": 'v1\n{}\n{"logOffset":3}\n-',
    "commits/1": "v1\n{}",
    "commits/2": "v1\n{}",
    "sources/0/1.compact": log("file:/in/a", "file:/in/b"),
    "sources/0/2": log("file:/in/c"),
    "sources/0/3": log("file:/in/d"),
}


def test_a_checkpoint_that_is_whole():
    checkpoint.verify(Checkpointed(WHOLE))
    checkpoint.verify(Checkpointed({}))
    checkpoint.verify(Checkpointed({"metadata": '{"id": "q"}'}))
    # A commit that is gone is written again: the micro-batch is sent once more, and the table knows it.
    checkpoint.verify(Checkpointed({name: WHOLE[name] for name in WHOLE if "commits" not in name}))
    # Kafka's own log, and a format that Spark writes only where it is told to.
    kafka = WHOLE | {"offsets/3": 'v1\n{}\n{"t":{"0":1}}', "sources/0/0": "\0v1\n{}"}
    checkpoint.verify(Checkpointed(kafka | {"offsets/2": kafka["offsets/3"]}))
    checkpoint.verify(Checkpointed(WHOLE | {"offsets/3": "v2\n..."}))


def test_the_newest_offsets_count():
    """Numbers of which a set gives the greatest first: the files of the batch that was begun are looked at, too."""
    files = {"metadata": '{"id": "q"}', "commits/7": "v1\n{}"}
    for number in (7, 8):
        files[f"offsets/{number}"] = f'v1\n{{}}\n{{"logOffset":{number}}}'
    files |= {f"sources/0/{number}": log(f"file:/in/{number}") for number in range(8)}
    with pytest.raises(checkpoint.DamagedError, match="sources/0/8 is gone"):
        checkpoint.verify(Checkpointed(files))


@pytest.mark.parametrize("text", [None, "", "v1\n{"])
def test_the_offsets_before_the_last_count(text):
    """Spark reads them, also where the last micro-batch has ended, and would say that they may be deleted."""
    files = {"metadata": '{"id": "q"}', "commits/7": "v1\n{}"}
    for number in (6, 7):
        files[f"offsets/{number}"] = f'v1\n{{}}\n{{"logOffset":{number}}}'
    files |= {f"sources/0/{number}": log(f"file:/in/{number}") for number in range(8)}
    checkpoint.verify(Checkpointed(files))
    del files["offsets/6"]
    with pytest.raises(checkpoint.DamagedError, match="the file file:/ck/offsets/6 is "):
        checkpoint.verify(Checkpointed(files | ({} if text is None else {"offsets/6": text})))


@pytest.mark.parametrize(
    ("name", "text", "what"),
    [
        ("metadata", "", "is empty"),
        ("metadata", None, "is gone"),
        ("metadata", "{}", "is cut short, or holds something else"),
        ("offsets/3", "v1\n{}\n", "is cut short, or holds something else"),
        ("offsets/3", "v1\n{", "is cut short, or holds something else"),
        ("offsets/3", "", "is empty"),
        ("offsets/2", None, "is gone"),
        ("commits/2", "v1", "is cut short, or holds something else"),
        ("commits/2", "\0\0", "is empty"),
        ("sources/0/3", None, "is gone"),
        ("sources/0/3", 'v1\n{"path', "is cut short, or holds something else"),
        ("sources/0/2", "v1\n[1]", "is cut short, or holds something else"),
        ("sources/0/1.compact", " ", "is empty"),
    ],
)
def test_a_checkpoint_that_is_damaged(name, text, what):
    files = {key: value for key, value in WHOLE.items() if key != name}
    if text is not None:
        files[name] = text
    with pytest.raises(checkpoint.DamagedError) as damaged:
        checkpoint.verify(Checkpointed(files))
    assert str(damaged.value) == (
        f"its checkpoint is damaged: the file file:/ck/{name} {what}. Put it back from a copy of the checkpoint, or run the "
        "model once with --full-refresh to load everything again"
    )


def test_a_compacted_log_that_is_gone():
    """Spark deletes the logs before it, and those are not missed."""
    files = {"metadata": '{"id": "q"}', "commits/20": "v1\n{}"}
    for number in (20, 21):
        files[f"offsets/{number}"] = f'v1\n{{}}\n{{"logOffset":{number}}}'
    files |= {f"sources/0/{number}": log(f"file:/in/{number}") for number in (20, 21)}
    checkpoint.verify(Checkpointed(files | {"sources/0/19.compact": log("file:/in/19")}))
    for left in ({}, {"sources/0/9.compact": log("file:/in/9")}):
        with pytest.raises(checkpoint.DamagedError, match=r"/ck/sources/0/19\.compact is gone"):
            checkpoint.verify(Checkpointed(files | left))


@pytest.mark.parametrize(
    "said",
    [
        "com.fasterxml.jackson.core.io.JsonEOFException: Unexpected end-of-input",
        "org.json4s.MappingException: No usable value for path",
        "java.nio.charset.MalformedInputException: Input length = 1",
        "org.apache.hadoop.fs.ChecksumException: Checksum error: file:/ck/sources/0/1.compact",
    ],
)
def test_a_compacted_log_that_is_damaged_behind_its_head(said):
    """It is read to its end only where Spark could not read one: it may hold millions of files."""
    compacted = log(*(f"file:/in/{number}" for number in range(2000)))
    assert len(compacted) > checkpoint.HEAD
    text = f"[STREAM_FAILED] Query terminated with exception\nCaused by: {said}"
    assert checkpoint.damage(Checkpointed(WHOLE | {"sources/0/1.compact": compacted}), text) is None
    folder = Checkpointed(WHOLE | {"sources/0/1.compact": compacted[:-3]})
    checkpoint.verify(folder)
    assert checkpoint.damage(folder, "Caused by: java.lang.ArithmeticException: / by zero") is None
    found = checkpoint.damage(folder, text)
    assert found and "the file file:/ck/sources/0/1.compact is cut short, or holds" in found


def test_what_a_query_remembers_is_damaged():
    state = {
        "state/0/0/1.delta": "LZ4Block",
        "state/0/0/2.delta": "garbage",
        "state/0/0/_metadata/schema": "x",
    }
    said = checkpoint.damage(
        Checkpointed(state), "[CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error"
    )
    assert (
        said and "the file file:/ck/state/0/0/2.delta is cut short, or holds something else" in said
    )
    missing = "[CANNOT_LOAD_STATE_STORE.X] Error reading delta file file:/ck/state/0/1/4.delta of HDFS: file:/ck/state/0/1/4.delta does not exist."
    said = checkpoint.damage(Checkpointed(state), missing)
    assert said and "the file file:/ck/state/0/1/4.delta is gone" in said
    assert checkpoint.damage(Checkpointed(state), "[DIVIDE_BY_ZERO]") is None


def test_a_folder_that_was_changed():
    folder = Checkpointed(WHOLE)

    for read in (["/in"], ["/in", "/other"], ["/i*"], ["file:/in/{a,b}"], ["/in", None]):
        position.refuse_moved(read, folder)
    for path in ("/inn", "/in/*.json"):
        with pytest.raises(position.FloodmarkError) as refused:
            position.refuse_moved([path], folder)
        assert str(refused.value) == (
            f"its checkpoint file:/ck has read files of another folder, such as file:/in/a, and none of {path}, so every file there "
            "would be loaded as a new one: name the folder as it was before, or run the model once with --full-refresh to load "
            "everything again"
        )


@pytest.mark.parametrize(
    ("path", "gone"),
    [
        ("/in/a [old]", "/in/a [old]"),
        ("file:///in/a [old]", "file:///in/a [old]"),
        ("/in/a [old]/*.json", "/in/a [old]"),
        ("/in/a [old]/b", "/in/a [old]"),
        (r"/in/a \[old\]/b{1}", "/in/a [old]/b{1}"),
        ("/in/a [new]", None),
        ("s3a://bucket/in/a [old]", None),
    ],
)
def test_a_folder_that_reads_like_a_pattern_is_gone(path, gone):
    """Where it is not there its path is a pattern, which matches nothing."""
    bucket = "s3a://bucket" if path.startswith("s3a") else "file:"
    below = "b{1}/c.json" if "{" in path else "b/c.json" if path.endswith("/b") else "c.json"
    folder = Checkpointed({"sources/0/0": log(f"{bucket}/in/a [old]/{below}")})
    said = "has read files of another folder" if gone is None else f"the folder {gone}, which it"
    # Another source may read it by a pattern.
    for paths_read in ([path], [path, "/in/a*"] if gone else [path]):
        with pytest.raises(position.FloodmarkError) as refused:
            position.refuse_moved(paths_read, folder)
        assert said in str(refused.value)


def test_sources_that_have_another_place():
    """Spark knows a source by its number, whatever order a store lists the folders of a checkpoint in."""
    files = {f"sources/{number}/0": log(f"file:/in/{number}/a") for number in range(11)}
    folder = Checkpointed(files)
    read = [f"/in/{number}" for number in range(11)]
    position.refuse_moved(read, folder)
    # One that has read nothing yet, and one folder within another.
    position.refuse_moved([*read, "/in/12"], folder)
    position.refuse_moved(["/in", *read[1:]], folder)
    for swapped in ([read[1], read[0]], [None, read[0]]):
        with pytest.raises(position.FloodmarkError, match="put the sources back in their order"):
            position.refuse_moved(swapped, folder)


def test_two_sources_of_one_folder():
    offsets = '{"logOffset":0}\n{"logOffset":0}'
    folder = Checkpointed(
        {
            "metadata": '{"id": "q"}',
            "offsets/0": f"v1\n{{}}\n{offsets}",
            "commits/0": "v1\n{}",
            "sources/0/0": log("file:/in/a"),
            "sources/1/0": log("file:/in/a", "file:/in/b"),
        }
    )
    found = position.Position.read(folder)
    assert found.files_of("/in", folder, set(), 1) == {"file:/in/a", "file:/in/b"}
    assert found.files_of("/in", folder, set(), 0) == {"file:/in/a"}
    assert found.files_of("/in/b*", folder, set(), 0) is None


@pytest.mark.parametrize(
    ("pattern", "file", "found"),
    [
        ("/in", "file:/in/a", True),
        ("/in", "file:/other/in/a", False),
        ("/in/", "s3a://bucket/in/a/b", True),
        ("s3a://bucket/in", "s3a://bucket/in/a", True),
        ("s3a://bucket/in", "s3a://other/in/a", False),
        ("file:///in/*.json", "file:/in/a.json", True),
        ("/in/*.json", "file:/in/a/b.json", False),
        (r"/in \[x\]/[!a]?", "file:/in [x]/bc/d", True),
        (r"/in \[x\]/[!a]?", "file:/in [x]/ac/d", False),
        ("/{a,b}*/c", "file:/bb/c/d", True),
    ],
)  # fmt: skip
def test_which_files_are_of_a_path(pattern, file, found):
    assert position._below(pattern)(file) is found


def test_a_colon_behind_a_pattern_is_named():
    text = "Failed to list\nCaused by: java.net.URISyntaxException: Relative path in absolute URI: 08:00:00.json\n\tat x"
    assert readable(text) == (
        "08:00:00.json has a colon in its name, which Spark cannot list where a path is a pattern (*, ?, [ or { in it). Name only "
        "the folder in the path, and the files in glob; or rename the file, for example to 08-00-00.json"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[DELTA_SCHEMA_CHANGED_WITH_VERSION] Detected schema change", "were renamed, dropped or given another type"),
        ("[DELTA_STREAMING_INCOMPATIBLE_SCHEMA_CHANGE_USE_SCHEMA_LOG] x", "were renamed, dropped or given another type"),
        ("java.io.IOException: mkdir of file:/ck/offsets failed", "the stream cannot write to the folder of its checkpoint"),
        ("java.io.FileNotFoundException: /ck/x (Permission denied)", "the stream cannot write to the folder of its checkpoint"),
    ],
)  # fmt: skip
def test_advice(text, said):
    assert said in explain(text).text
