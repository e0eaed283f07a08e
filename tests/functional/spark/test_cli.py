"""The command, installed from the wheel: a new project builds, status and doctor tell. Its server starts and stops in test_crash_process.py."""

from __future__ import annotations

import json
import os
import site
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbt_floodmark.errors import ServerError
from dbt_floodmark.spark.jars import jar_folder
from dbt_floodmark.spark.server import start_server
from tests.support.console import Console, floodmark, make_spark_brief
from tests.support.harness import REPOSITORY


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of a new virtual environment with floodmark's wheel; the other packages are lent from this one."""
    folder = tmp_path_factory.mktemp("wheel")
    build = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder)]
    done(sys.executable, "-m", "pip", *build, str(REPOSITORY), cwd=folder)
    (wheel,) = folder.glob("dbt_floodmark-*.whl")
    done(sys.executable, "-m", "venv", "--without-pip", str(folder / "venv"), cwd=folder)
    python = folder / "venv" / "bin" / "python"
    inside = done(python, "-c", "import site; print(site.getsitepackages()[0])", cwd=folder).strip()
    with zipfile.ZipFile(wheel) as files:
        files.extractall(inside)
    Path(inside, "lent.pth").write_text("\n".join(site.getsitepackages()) + "\n")
    where = done(python, "-c", "import dbt_floodmark; print(dbt_floodmark.__file__)", cwd=folder)
    assert where.startswith(inside)
    return python


def done(*command: str | Path, cwd: Path) -> str:
    """What a command printed that ended well."""
    run = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return run.stdout


@pytest.fixture(scope="module")
def console(python: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """A process without network that the commands of this module run in, one after the other: it starts one JVM."""
    nowhere = "http://127.0.0.1:9"
    home = str(tmp_path_factory.mktemp("home"))
    jars = str(jar_folder())
    console = Console.start(
        python, FLOODMARK_JARS=jars, HOME=home, http_proxy=nowhere, https_proxy=nowhere
    )
    yield console
    console.stop()


@pytest.fixture(scope="module")
def shop(console: Console, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    code, said = console.run("init", "shop", cwd=folder)
    assert code == 0, said
    make_spark_brief(folder / "shop")
    return folder / "shop"


def test_the_wheel_has_what_users_need_alone(python: Path) -> None:
    (wheel,) = python.parents[2].glob("dbt_floodmark-*.whl")
    with zipfile.ZipFile(wheel) as files:
        names = files.namelist()
    assert "dbt_floodmark/package/dbt_project.yml" in names
    assert "dbt_floodmark/package/macros/merge/_merge_sql.sql" in names
    assert not any(name.startswith(("tests/", "models/", "benchmarks/")) for name in names)


def test_no_ledger_yet(shop: Path, console: Console) -> None:
    assert console.run("status", cwd=shop) == (
        0,
        "There is no ledger yet: it appears with the first `floodmark build`.\n",
    )


def test_a_new_project_loads_only_what_is_new(shop: Path, console: Console) -> None:
    code, said = console.run("build", "--project-dir", "shop", cwd=shop.parent)
    assert code == 0, said
    with open(shop / "seeds" / "raw_events.csv", "a", encoding="utf-8") as seed:
        seed.write("4,Barbara,1.00,2024-05-03 12:00:00\n")
    where = ("--project-dir", "shop", "--profiles-dir", "shop/profiles")
    code, said = console.run("build", *where, cwd=shop.parent)
    assert code == 0, said
    code, said = console.run("status", "--json", cwd=shop)
    assert code == 0 and '"mark": "2024-05-03 12:00:00.000000"' in said, said
    _, said = console.run("history", "events", "--json", cwd=shop)
    batches = json.loads(said)["batches"]
    assert batches[0]["high"] == "2024-05-03 12:00:00.000000"
    assert [(one["kind"], one["state"], one["rows_read"]) for one in batches] == [
        ("incremental", "committed", 1),
        ("first_load", "committed", 3),
    ]


def test_exit_codes_are_dbts(shop: Path, console: Console) -> None:
    assert floodmark("build", "--nope", cwd=shop).returncode == 2
    assert console.run("run", "-t", "nope", cwd=shop)[0] == 2


def test_doctor(shop: Path, console: Console) -> None:
    assert console.run("doctor", cwd=shop)[0] == 0
    answer = floodmark("doctor", "-t", "thrift", cwd=shop, FLOODMARK_THRIFT_PORT="1")
    assert answer.returncode == 1
    assert "none answers at 127.0.0.1:1" in answer.stdout
    assert "run `floodmark serve start`" in answer.stdout


def test_debug_connects_to_floodmarks_own_spark(shop: Path, tmp_path: Path) -> None:
    """dbt sets up no plugins for it: without them it is a plain Spark, in the folder where one stands."""
    answer = floodmark("debug", cwd=shop, FLOODMARK_HOME=str(tmp_path), SPARK_HOME=str(tmp_path))
    assert answer.returncode == 0, answer.stdout
    assert "All checks passed!" in answer.stdout
    assert (tmp_path / "session" / "metastore_db").is_dir()
    assert not (shop / "metastore_db").exists() and not (shop / "spark-warehouse").exists()


def test_plain_dbt_works_on_a_new_project_behind_its_deps(shop: Path) -> None:
    """dbt deletes dbt_packages first, and reads packages.yml before it sets up floodmark's plugin."""
    environment = {key: value for key, value in os.environ.items() if key != "FLOODMARK_PACKAGE"}
    for words in (["deps"], ["deps"], ["ls", "--profiles-dir", "profiles", "--output", "name"]):
        answer = subprocess.run(
            [sys.executable, "-m", "dbt.cli.main", *words],
            cwd=shop,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert answer.returncode == 0, answer.stdout
    assert "events" in answer.stdout
    answer = floodmark("deps", cwd=shop)
    assert answer.returncode == 0, answer.stdout
    assert os.path.samefile(shop / "dbt_packages" / "floodmark", shop / "packages" / "floodmark")


def test_no_server_answers(shop: Path) -> None:
    answer = floodmark("run", "-t", "thrift", cwd=shop, FLOODMARK_THRIFT_PORT="1")
    assert answer.returncode == 2
    assert (
        "No Spark Thrift server answers at 127.0.0.1:1: start one with `floodmark serve start`."
    ) in answer.stdout


def test_port_in_use(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ServerError) as caught:
            start_server(tmp_path, port)
    assert str(caught.value) == (
        f"Port {port} is in use by another program: choose another with `floodmark serve start "
        f"--port {port + 1}` and FLOODMARK_THRIFT_PORT={port + 1}, or stop that program."
    )


def test_a_foreign_process_is_left_alone(tmp_path):
    """A server's process id may be another's after a reboot: the server is gone then."""
    state = tmp_path / "thrift" / "server.json"
    state.parent.mkdir()
    state.write_text(json.dumps({"pid": os.getpid(), "port": 1}))
    answer = floodmark("serve", "stop", cwd=tmp_path, FLOODMARK_HOME=str(tmp_path))
    assert answer.returncode == 0, answer
    assert "The Spark Thrift server had ended." in answer.stdout
    assert not state.exists()
