"""S3 as a user has it: keys in the environment, on a session and on a server of its own; and without the connector."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dbt_floodmark.spark.jars import JARS, jar_folder
from tests.support.console import Console, floodmark, make_spark_brief
from tests.support.files import lines, loader
from tests.support.harness import BRIEF_SPARK_PARAMETERS, sentence
from tests.support.s3_server import EVERYTHING, S3, Keys, running_s3, settings
from tests.support.servers import free_ports

pytestmark = pytest.mark.edge

MISSING = (
    "the connector of S3 is not installed: run `floodmark setup --with s3` once, restart any Spark server that "
    "is running, and run again"
)
NO_KEYS = {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SESSION_TOKEN": ""}


@pytest.fixture(scope="module")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3]:
    with running_s3(tmp_path_factory.mktemp("s3")) as server:
        server.land("landing", {"in/a b+ü.json": lines({"id": 1})})
        yield server


@pytest.fixture(scope="module")
def keys(s3: S3) -> Keys:
    return s3.user("floodmark", EVERYTHING)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory, s3: S3) -> Path:
    """A project whose profile says where S3 is, and nothing of keys."""
    folder = tmp_path_factory.mktemp("s3_process")
    assert floodmark("init", "shop", cwd=folder).returncode == 0
    shop = folder / "shop"
    parameters = {f"spark.hadoop.{name}": value for name, value in settings(s3).items()}
    # With -Xshare nobody makes an archive of classes for the folders of jars that the tests make.
    options = BRIEF_SPARK_PARAMETERS["spark.driver.extraJavaOptions"] + " -Xshare:auto"
    make_spark_brief(shop, parameters | {"spark.driver.extraJavaOptions": options})
    (shop / "models" / "landed.sql").write_text(loader("s3a://landing/in", format="json"))
    return shop


@pytest.fixture(scope="module")
def bare(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder of jars in which nobody ran `floodmark setup --with s3`."""
    folder = tmp_path_factory.mktemp("jars")
    for name in JARS:
        (folder / name).symlink_to(jar_folder() / name)
    return str(folder)


def written(shop: Path) -> dict[str, str]:
    """All that runs leave behind as text."""
    folders = (shop / "target", shop / "logs", shop / ".floodmark")
    files = (one for folder in folders for one in folder.rglob("*.*"))
    texts = (".log", ".json", ".sql", ".yml", ".conf", ".txt")
    return {
        str(one): one.read_text("utf-8", "replace")
        for one in files
        if one.is_file() and one.suffix in texts
    }


def test_a_session_takes_its_keys_from_the_environment(shop: Path, keys: Keys) -> None:
    console = Console.start(**keys.environment)
    try:
        code, said = console.run("run", "--select", "landed", cwd=shop)
        assert code == 0, said
        code, said = console.run("init", "--files", "s3a://landing/in", "--model", "seen", cwd=shop)
        assert code == 0 and "'path': 's3a://landing/in'" in said, said
        code, said = console.run("files", "landed", "--json", cwd=shop)
    finally:
        console.stop()
    (shop / "models" / "bronze" / "seen.sql").unlink()
    assert [one["path"] for one in json.loads(said)["files"]] == ["s3a://landing/in/a%20b+ü.json"]
    texts = written(shop)
    assert any(name.endswith("dbt.log") for name in texts)
    for part in (keys.secret, keys.id):
        assert [name for name, text in texts.items() if part in text] == []


def test_without_the_connector_a_session_says_what_to_do(
    shop: Path, keys: Keys, bare: str, capfd: pytest.CaptureFixture[str]
) -> None:
    console = Console.start(**keys.environment, FLOODMARK_JARS=bare)
    try:
        code, said = console.run("run", "--select", "landed", cwd=shop)
        assert code == 1
        assert f"the folder s3a://landing/in cannot be listed: {MISSING}" in sentence(said)
        code, _ = console.run("init", "--files", "s3a://landing/in", "--model", "seen", cwd=shop)
        assert code == 1
        # What the process prints on stderr is ours.
        assert MISSING in sentence(capfd.readouterr().err)
    finally:
        console.stop()
    assert not (shop / "models" / "bronze" / "seen.sql").exists()


def test_a_server_has_the_keys_with_which_it_was_started(
    shop: Path, s3: S3, keys: Keys, bare: str
) -> None:
    """First without the connector, then with the keys; who runs dbt there needs none."""
    [port] = free_ports(1)
    thrift = {"FLOODMARK_THRIFT_PORT": str(port)} | NO_KEYS
    start = ("serve", "start", "--target", "session")
    try:
        done = floodmark(*start, cwd=shop, **thrift | {"FLOODMARK_JARS": bare})
        assert done.returncode == 0, done.stdout + done.stderr
        done = floodmark("run", "-t", "thrift", "--select", "landed", cwd=shop, **thrift)
        assert done.returncode == 1
        assert MISSING in sentence(done.stdout), done.stdout
        floodmark("serve", "stop", cwd=shop)
        done = floodmark(*start, cwd=shop, **thrift | keys.environment)
        assert done.returncode == 0, done.stdout + done.stderr
        done = floodmark("run", "-t", "thrift", "--select", "landed", cwd=shop, **thrift)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "APPEND 1 read" in done.stdout
    finally:
        floodmark("serve", "stop", cwd=shop)
    for part in (keys.secret, keys.id):
        assert [name for name, text in written(shop).items() if part in text] == []
