"""What is told about other processes."""

import os
import subprocess
import sys

import psutil
import pytest

from dbt_floodmark.spark.processes import command_of, is_alive

CODE = "print(flush=True); input()"


@pytest.fixture
def child():
    process = subprocess.Popen(
        [sys.executable, "-c", CODE, "two words", b"\xff", ""],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    # Popen returns when the program is about to be replaced, and its command line may be empty yet.
    process.stdout.readline()
    yield process
    process.communicate()


def test_a_process_that_runs(child):
    assert is_alive(child.pid)
    assert command_of(child.pid) == f"{sys.executable} -c {CODE} two words \ufffd"


def test_one_that_is_dead_and_not_yet_reaped(child):
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert not is_alive(child.pid)
    assert command_of(child.pid) == ""


def test_one_that_is_gone(child):
    child.kill()
    child.wait()
    assert not is_alive(child.pid)
    assert command_of(child.pid) == ""


def test_one_of_another_user(monkeypatch):
    def refuse(process):
        raise psutil.AccessDenied(process.pid)

    monkeypatch.setattr(psutil.Process, "status", refuse)
    monkeypatch.setattr(psutil.Process, "cmdline", refuse)
    assert is_alive(os.getpid())
    assert command_of(os.getpid()) == ""
