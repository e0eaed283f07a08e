"""One process at a time in an embedded metastore."""

import fcntl
import json
import os
import stat
import subprocess
import sys
import textwrap
import threading
from contextlib import contextmanager

import pytest

from dbt_floodmark.errors import MetastoreLockedError
from dbt_floodmark.spark import lock as locks
from dbt_floodmark.spark.lock import MetastoreLock, is_locked, locked_sentence, read_holder

WAY_OUT = (
    ", and Derby takes one process at a time: wait until it ends, or have both commands work on "
    "one Spark, with FLOODMARK_WARM=1 in the environment (a stream cannot)."
)


@contextmanager
def holding(path, then=""):
    """A process that holds the lock, once it has run `then`."""
    code = textwrap.dedent("""
        import os, pathlib, sys
        from dbt_floodmark.spark.lock import MetastoreLock
        lock = MetastoreLock(pathlib.Path(sys.argv[1]))
        lock.acquire()
        exec(sys.argv[2])
        print("held", flush=True)
        sys.stdin.read()
    """)
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(path), then],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout.readline() == "held\n"
        yield child
    finally:
        child.communicate()


def test_held_by_another_process(tmp_path):
    path = tmp_path / "session" / "lock"
    with holding(path) as child:
        # A try that fails does not erase who holds it.
        for _ in range(2):
            assert is_locked(path)
            with pytest.raises(MetastoreLockedError) as caught:
                MetastoreLock(path).acquire()
            assert str(caught.value) == (
                f"The metastore at {path.parent} is in use by process {child.pid} "
                f"(-c {path} ''){WAY_OUT}"
            )
    assert not is_locked(path)
    ours = MetastoreLock(path)
    ours.acquire()
    assert read_holder(path).pid == os.getpid()
    ours.release()


def test_free_once_its_holder_is_killed(tmp_path):
    path = tmp_path / "lock"
    with holding(path) as child:
        child.kill()
        child.wait()
        assert not is_locked(path)
        lock = MetastoreLock(path)
        lock.acquire()
        lock.release()


@pytest.mark.parametrize("at_its_end", ["lock.release()", "pass"])
def test_a_forked_child_does_not_give_it_back(tmp_path, at_its_end):
    path = tmp_path / "lock"
    then = f"""if pid := os.fork():
    os.waitpid(pid, 0)
else:
    {at_its_end}
    sys.exit()"""
    with holding(path, then):
        assert is_locked(path)
    assert not is_locked(path)


def test_taken_on_one_thread_and_given_back_on_another(tmp_path):
    path = tmp_path / "lock"
    lock = MetastoreLock(path)
    for step, is_held in ((lock.acquire, True), (lock.acquire, True), (lock.release, False)):
        thread = threading.Thread(target=step)
        thread.start()
        thread.join()
        assert is_locked(path) is is_held


def test_it_is_a_plain_flock(tmp_path):
    path = tmp_path / "lock"
    lock = MetastoreLock(path)
    lock.acquire()
    with open(path, "a+") as file:
        with pytest.raises(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        lock.release()
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        assert is_locked(path)
        with pytest.raises(MetastoreLockedError):
            lock.acquire()
    lock.acquire()
    lock.release()


def test_whoever_may_read_a_file_of_ours_may_read_its_files(tmp_path):
    before = os.umask(0o022)
    try:
        lock = MetastoreLock(tmp_path / "lock")
        lock.acquire()
        lock.release()
    finally:
        os.umask(before)
    modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert modes == {"lock": 0o644, "lock.json": 0o644}


def test_an_orphaned_jvm_is_waited_for_and_then_named(tmp_path, monkeypatch):
    path = tmp_path / "lock"
    (tmp_path / "lock.json").write_text(
        json.dumps({"pid": 1, "command": "dbt build", "jvm_pid": os.getpid()})
    )
    monkeypatch.setattr(locks, "JVM_GRACE", 0.2)
    command = f"/usr/bin/java -Dfloodmark.log={tmp_path / 'spark.log'} -cp x"
    monkeypatch.setattr(locks, "command_of", lambda pid: command)
    with pytest.raises(MetastoreLockedError) as caught:
        MetastoreLock(path).acquire()
    assert str(caught.value) == (
        f"The metastore at {tmp_path} is in use by process {os.getpid()} (the JVM of a killed "
        f"'dbt build'){WAY_OUT}"
    )
    assert not is_locked(path)
    assert read_holder(path).command == "dbt build"


@pytest.mark.parametrize(
    "command", ["python x", "/usr/bin/java -cp kafka", "java -Dfloodmark.log=/other/spark.log"]
)
def test_a_pid_that_is_our_jvm_no_more_does_not_count(tmp_path, monkeypatch, command):
    path = tmp_path / "lock"
    monkeypatch.setattr(locks, "command_of", lambda pid: command)
    (tmp_path / "lock.json").write_text(
        json.dumps({"pid": 1, "command": "dbt build", "jvm_pid": os.getpid()})
    )
    lock = MetastoreLock(path)
    lock.acquire()
    lock.release()


def test_nobody_legible(tmp_path):
    path = tmp_path / "lock"
    (tmp_path / "lock.json").write_text("{")
    assert locked_sentence(path) == (
        f"The metastore at {tmp_path} is in use by another process{WAY_OUT}"
    )
