"""`--warm`: a Spark that stays between commands, on the tables of the session target, and ends by itself."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbt_floodmark.spark import warm
from dbt_floodmark.spark.lock import is_locked, read_holder
from dbt_floodmark.spark.processes import is_alive
from dbt_floodmark.spark.server import ThriftServer
from tests.support.console import floodmark, make_spark_brief
from tests.support.streams import stream

pytestmark = pytest.mark.edge

#: Seconds that a server may take to notice that it has to leave.
PATIENCE = 40.0


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("warm")
    assert floodmark("init", "shop", cwd=folder).returncode == 0
    project = folder / "shop"
    make_spark_brief(project)
    yield project
    found = warm.running(project / ".floodmark")
    if found:
        warm.stop_warm(found)


def server(project: Path) -> ThriftServer:
    found = warm.running(project / ".floodmark")
    assert found
    return found


def wait_until_gone(project: Path, pid: int) -> None:
    deadline = time.monotonic() + PATIENCE
    while is_alive(pid) or is_locked(project / ".floodmark" / "session" / "lock"):
        assert time.monotonic() < deadline, "it is still there"
        time.sleep(0.2)


def test_one_spark_for_many_commands(shop: Path) -> None:
    """And those that do not ask for it use it where it runs."""
    first = floodmark("build", "--warm", cwd=shop)
    assert first.returncode == 0, first.stdout
    pid = server(shop).pid
    with open(shop / "seeds" / "raw_events.csv", "a", encoding="utf-8") as seed:
        seed.write("4,Barbara,1.00,2024-05-03 12:00:00\n")
    second = floodmark("build", cwd=shop)
    assert second.returncode == 0, second.stdout
    status = floodmark("status", "--json", cwd=shop)
    assert '"mark": "2024-05-03 12:00:00.000000"' in status.stdout
    assert server(shop).pid == pid
    told = floodmark("serve", "status", cwd=shop)
    assert told.stdout == (
        f"The warm server at 127.0.0.1:{server(shop).port} answers (process {pid}).\n"
    )


def test_what_it_cannot_do_is_refused(shop: Path) -> None:
    """Spark in the dbt process: --no-warm, streams, Python models."""
    keeper = read_holder(shop / ".floodmark" / "session" / "lock")
    assert keeper
    refused = floodmark("run", "--no-warm", cwd=shop)
    assert refused.returncode == 2
    assert (
        f"is in use by the warm server (process {keeper.pid}), and Derby takes one process at a time: "
        "stop that server with `floodmark serve stop`, or have this command work on it, too, with "
        "FLOODMARK_WARM=1 in the environment (a stream cannot)."
    ) in " ".join(refused.stdout.split())
    (shop / "models" / "copied.sql").write_text(
        stream("select * from stream({{ ref('raw_events') }})")
    )
    model = "def model(dbt, session):\n    return session.range(3)\n"
    (shop / "models" / "plain.py").write_text(model)
    run = floodmark("run", "--select", "copied", "plain", cwd=shop)
    for name in ("copied.sql", "plain.py"):
        (shop / "models" / name).unlink()
    assert run.returncode == 1
    said = " ".join(run.stdout.split())
    assert (
        'materialized: got "streaming_table"; expected Spark inside the dbt process, and this run is on the warm '
        "server. Stop that server with `floodmark serve stop`, and run with --no-warm, or with FLOODMARK_WARM=0 in the environment"
    ) in said
    assert (
        "model 'plain': a Python model needs Spark inside the dbt process, and this run is on the warm server. Stop "
        "that server with `floodmark serve stop`, and run with --no-warm, or with FLOODMARK_WARM=0 in the environment."
    ) in said


def test_a_keeper_that_was_killed_leaves_nothing_behind(shop: Path) -> None:
    """Nobody would end its server; the next command does."""
    keeper = read_holder(shop / ".floodmark" / "session" / "lock")
    assert keeper
    orphan = server(shop).pid
    os.kill(keeper.pid, signal.SIGKILL)
    # Other settings too: the server ends after some seconds without anybody.
    make_spark_brief(
        shop, {"spark.floodmark.warm": "true", "spark.floodmark.warm.idleMinutes": "0.05"}
    )
    assert floodmark("run", cwd=shop).returncode == 0
    assert not is_alive(orphan)


def test_it_ends_when_nobody_needs_it(shop: Path) -> None:
    found = warm.recorded_server(shop / ".floodmark", warm.SESSION)
    if found:
        wait_until_gone(shop, found.pid)
    assert warm.running(shop / ".floodmark") is None
    # Spark in the dbt process has the tables again, and all options of its JVM, though one is a secret.
    make_spark_brief(
        shop, {"spark.driver.extraJavaOptions": "-Da.storePassword=hush -Dof.test=kept"}
    )
    asked = (
        "select count(*) as n, java_method('java.lang.System', 'getProperty', 'of.test') as said"
    )
    alone = floodmark(
        "show",
        "--no-warm",
        "--inline",
        asked + " from {{ ref('raw_events') }}",
        cwd=shop,
    )
    assert alone.returncode == 0 and "kept" in alone.stdout, alone.stdout
    assert not list((shop / ".floodmark" / "session").glob("secret-*"))
    assert warm.running(shop / ".floodmark") is None
