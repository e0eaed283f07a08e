"""One process at a time in an embedded metastore."""

import json
import os
import subprocess
import sys
import textwrap

import pytest

from dbt_floodmark.errors import MetastoreLockedError
from dbt_floodmark.spark import lock as locks
from dbt_floodmark.spark.lock import MetastoreLock, is_locked, locked_sentence, read_holder

WAY_OUT = (
    ", and Derby takes one process at a time: wait until it ends, or run both against one server "
    "with `floodmark serve start` and the thrift target (-t thrift)."
)


def test_held_by_another_process(tmp_path):
    path = tmp_path / "session" / "lock"
    code = textwrap.dedent(f"""
        import pathlib, sys
        from dbt_floodmark.spark.lock import MetastoreLock
        lock = MetastoreLock(pathlib.Path({str(path)!r}))
        lock.acquire()
        print("held", flush=True)
        sys.stdin.read()
    """)
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout.readline() == "held\n"
        assert is_locked(path)
        with pytest.raises(MetastoreLockedError) as caught:
            MetastoreLock(path).acquire()
        assert str(caught.value) == (
            f"The metastore at {path.parent} is in use by process {child.pid} (-c){WAY_OUT}"
        )
    finally:
        child.communicate()
    assert not is_locked(path)
    ours = MetastoreLock(path)
    ours.acquire()
    assert read_holder(path).pid == os.getpid()
    ours.release()


def test_an_orphaned_jvm_is_waited_for_and_then_named(tmp_path, monkeypatch):
    path = tmp_path / "lock"
    path.write_text(json.dumps({"pid": 1, "command": "dbt build", "jvm_pid": os.getpid()}))
    monkeypatch.setattr(locks, "JVM_GRACE", 0.2)
    monkeypatch.setattr(locks, "command_of", lambda pid: "/usr/bin/java -cp x")
    with pytest.raises(MetastoreLockedError) as caught:
        MetastoreLock(path).acquire()
    assert str(caught.value) == (
        f"The metastore at {tmp_path} is in use by process {os.getpid()} (the JVM of a killed "
        f"'dbt build'){WAY_OUT}"
    )


def test_a_pid_that_is_no_jvm_any_more_does_not_count(tmp_path):
    path = tmp_path / "lock"
    path.write_text(json.dumps({"pid": 1, "command": "dbt build", "jvm_pid": os.getpid()}))
    lock = MetastoreLock(path)
    lock.acquire()
    lock.release()


def test_nobody_legible(tmp_path):
    path = tmp_path / "lock"
    path.write_text("{")
    assert locked_sentence(path) == (
        f"The metastore at {tmp_path} is in use by another process{WAY_OUT}"
    )
