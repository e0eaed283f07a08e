"""Where a stream keeps its checkpoint: no Spark."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from dbt_common.exceptions import DbtRuntimeError
from py4j.protocol import Py4JJavaError

from dbt_floodmark.refusal import RefusedError
from dbt_floodmark.streaming import checkpoint
from dbt_floodmark.streaming.streams import Streams
from tests.support.macros import load

PRINTED = "file:/my%20shop%23%257B/ledger.db"
PLAIN = "file:/my shop#%7B/ledger.db"
ID = "shop.events"


@pytest.mark.parametrize(
    ("there", "base"),
    [
        ([], PLAIN),
        ([PLAIN], PLAIN),
        ([PRINTED], PRINTED),
        ([PLAIN, PRINTED], PLAIN),
    ],
)
def test_a_checkpoint_lies_beside_the_ledger(there, base):
    """Spark prints the ledger's place encoded; where an earlier version made the folder of that name, it stays."""
    folders = [f"{one}/_checkpoints/{ID}" for one in there]
    streams = SimpleNamespace(has_folder=lambda path: path in folders)
    floodmark = load(
        run_query=lambda sql: SimpleNamespace(rows=[["Location", PRINTED]]),
        adapter=SimpleNamespace(floodmark_streams=lambda: streams),
    )
    floodmark.ledger_schema = lambda: "ledger"
    assert floodmark._checkpoint_base(None, ID) == f"{base}/_checkpoints/{ID}"


class JavaFailed(Py4JJavaError):
    """What Py4J raises, without a JVM."""

    def __init__(self, text):
        self.text = text

    def __str__(self):
        return f"An error occurred while calling o1.getFileSystem.\n: {self.text}\n\tat org.X.y(X.java:1)"


def unreachable(text):
    """A session in which no file system is reached."""

    class Path:
        def __init__(self, path):
            pass

        def getFileSystem(self, conf):
            raise JavaFailed(text)

    fs = SimpleNamespace(Path=Path)
    jvm = SimpleNamespace(
        org=SimpleNamespace(apache=SimpleNamespace(hadoop=SimpleNamespace(fs=fs)))
    )
    state = SimpleNamespace(newHadoopConf=lambda: None)
    return SimpleNamespace(_jvm=jvm, _jsparkSession=SimpleNamespace(sessionState=lambda: state))


NO_SCHEME = 'org.apache.hadoop.fs.UnsupportedFileSystemException: No FileSystem for scheme "abc"'
NO_CLASS = (
    "java.lang.RuntimeException: java.lang.ClassNotFoundException: Class "
    "org.apache.hadoop.fs.s3a.S3AFileSystem not found"
)


@pytest.mark.parametrize(
    ("text", "said", "is_final"),
    [
        (NO_SCHEME, "Spark has no connector for paths that begin with abc://", True),
        (NO_CLASS, "run `floodmark setup --with s3` once", True),
        ("java.net.ConnectException: Connection refused", "Connection refused", False),
    ],
)
def test_a_folder_that_spark_cannot_reach(text, said, is_final):
    """One sentence without a stack; `floodmark stream` tries again only where that may help."""
    streams = Streams(SimpleNamespace(spark=unreachable(text)))
    calls = (
        lambda: streams.keep_running("shop.m", "abc://x/ck/shop.m", lambda: True),
        lambda: streams.checkpoint("abc://x/ck/shop.m/1"),
    )
    for call in calls:
        with pytest.raises(DbtRuntimeError) as failed:
            call()
        message = str(failed.value)
        assert (
            "floodmark, model 'shop.m': the folder of its checkpoints, abc://x/ck/shop.m" in message
        )
        assert said in message and "org.X.y" not in message
        assert isinstance(failed.value, RefusedError) is is_final


@pytest.mark.parametrize(
    ("said", "holds"),
    [("org.apache.hadoop.security.AccessControlException: Permission denied", True),
     ("java.io.EOFException: Cannot seek after EOF", False),
     ("org.apache.hadoop.fs.ChecksumException: Checksum error: a/_floodmark_lease", False)],
)  # fmt: skip
def test_a_lease_that_cannot_be_reached_is_somebodys(
    said: str, holds: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else's file may be replaced by who may not read it; one that was cut short is nobody's."""
    monkeypatch.setattr(checkpoint, "_SETTLE", 0)

    def read(name: str) -> str:
        raise checkpoint.UnreachableError("a", said) from ValueError(said)

    written: list[bool] = []

    def write(name: str, text: str, *, overwrite: bool) -> bool:
        written.append(overwrite)
        return overwrite

    folder: Any = SimpleNamespace(path="a", read=read, write=write, delete=lambda name: None)
    if holds:
        with pytest.raises(checkpoint.UnreachableError, match="cannot be reached: "):
            checkpoint.Lease(folder, "shop.events").__enter__()
    else:
        with checkpoint.Lease(folder, "shop.events"):
            pass
    assert written == ([False] if holds else [False, True])
