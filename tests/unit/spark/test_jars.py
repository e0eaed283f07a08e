"""The jars are there, or one sentence says how they come."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from dbt_floodmark.errors import JarsError
from dbt_floodmark.spark import jars
from dbt_floodmark.versions import AWS_SDK, EXTRAS, HADOOP, JAR_COORDINATE, JARS


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FLOODMARK_JARS", str(tmp_path / "jars"))
    return tmp_path / "jars"


def test_missing(folder):
    with pytest.raises(JarsError) as caught:
        jars.require_jars()
    assert str(caught.value) == (
        f"The Delta jars are not in {folder} ({JARS[0]} is missing): run `floodmark setup` once."
    )


def test_no_network(folder, monkeypatch):
    monkeypatch.setattr(subprocess, "run", lambda *a, **k: SimpleNamespace(returncode=1))
    monkeypatch.setattr(jars, "find_java", lambda: None)
    with pytest.raises(JarsError) as caught:
        jars.fetch_jars()
    assert str(caught.value) == (
        f"The jars of {JAR_COORDINATE} could not be fetched, which needs the network once: "
        f"connect and run `floodmark setup` again, or copy them into {folder} "
        f"(Ivy's output is in {folder.parent / 'ivy.log'})."
    )
    assert not folder.exists()


def test_a_repository_that_fails_once_is_asked_again(folder, monkeypatch):
    """What it said both times is in Ivy's log."""
    answers = [1, 0]

    def run(command, stdout, **settings):
        (home,) = [part for part in command if part.startswith("spark.jars.ivy=")]
        came = Path(home.partition("=")[2]) / "jars"
        code = answers.pop(0)
        stdout.write(f"ended with {code}\n")
        if code == 0:
            came.mkdir(parents=True)
            for name in JARS:
                (came / f"io.delta_{name}").write_text(name)
        return SimpleNamespace(returncode=code)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(jars, "find_java", lambda: None)
    jars.fetch_jars()
    assert not jars.missing_jars(folder)
    assert (folder.parent / "ivy.log").read_text() == "ended with 1\nended with 0\n"


def test_ivy_is_followed_by_this_python_whatever_the_environment_names(folder, monkeypatch):
    commands = []

    def run(command, **settings):
        commands.append(command)
        return SimpleNamespace(returncode=1)

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(jars, "find_java", lambda: None)
    monkeypatch.setenv("PYSPARK_DRIVER_PYTHON", "jupyter")
    with pytest.raises(JarsError):
        jars.fetch_jars()
    given = commands[0]
    for key in ("spark.pyspark.driver.python", "spark.pyspark.python"):
        assert given[given.index(f"{key}={sys.executable}") - 1] == "--conf"


@pytest.fixture
def resolved(monkeypatch):
    """Ivy, which brings Delta's jars; what it was asked for."""
    calls = []

    def resolve(coordinate, excluded, ivy, scratch, log):
        calls.append(coordinate)
        (ivy / "jars").mkdir(parents=True)
        for name in JARS:
            (ivy / "jars" / f"io.delta_{name}").write_text(name)

    monkeypatch.setattr(jars, "_resolve", resolve)
    monkeypatch.setattr(jars, "find_java", lambda: None)
    return calls


def test_fetched_only_once(folder, resolved):
    assert jars.fetch_jars() == folder
    assert jars.fetch_jars() == folder
    assert resolved == [JAR_COORDINATE]
    assert [path.name for path in jars.require_jars()] == list(JARS)
    assert [one.name for one in folder.parent.iterdir()] == ["jars"]


def _files(folder):
    return {
        str(one.relative_to(folder)): one.read_text()
        for one in folder.rglob("*.*")
        if one.is_file()
    }


def test_what_else_is_in_the_folder_stays(folder, resolved):
    mine = {"mine.jar": "mine", "kafka/kafka-clients-1.jar": "kafka", JARS[0]: "half of it"}
    for name, text in mine.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    jars.fetch_jars()
    assert _files(folder) == {**mine, **{name: name for name in JARS}}
    assert sorted(one.name for one in folder.iterdir()) == sorted([*JARS, "kafka", "mine.jar"])


def test_a_copy_that_fails_leaves_no_half_jar(folder, resolved, monkeypatch):
    folder.mkdir()
    (folder / "mine.jar").write_text("mine")
    copy = jars.shutil.copyfile

    def fail(source, target):
        copy(source, target)
        if target.name == JARS[2]:
            target.write_text("half")
            raise OSError("No space left on device")

    monkeypatch.setattr(jars.shutil, "copyfile", fail)
    with pytest.raises(OSError, match="No space left"):
        jars.fetch_jars()
    assert _files(folder) == {"mine.jar": "mine", JARS[0]: JARS[0], JARS[1]: JARS[1]}
    assert jars.missing_jars() == list(JARS[2:])


@pytest.fixture
def driver(folder, monkeypatch):
    """The name of PostgreSQL's driver, which Ivy brings."""
    name = f"postgresql-{EXTRAS['postgresql'][0].rpartition(':')[2]}.jar"

    def resolve(coordinate, excluded, ivy, scratch, log):
        (ivy / "jars").mkdir(parents=True)
        (ivy / "jars" / f"org.postgresql_{name}").write_text("ours")

    monkeypatch.setattr(jars, "_resolve", resolve)
    monkeypatch.setattr(jars, "find_java", lambda: None)
    return name


def test_an_extra_of_another_version_is_neither_taken_for_ours_nor_removed(folder, driver):
    (folder / "postgresql").mkdir(parents=True)
    (folder / "postgresql" / "postgresql-1.jar").write_text("theirs")
    with pytest.raises(JarsError) as caught:
        jars.fetch_extra("postgresql")
    assert str(caught.value) == (
        f"{folder / 'postgresql'} has other jars than {driver}: move them away and run "
        "`floodmark setup --with postgresql` again."
    )
    assert _files(folder) == {"postgresql/postgresql-1.jar": "theirs"}


def test_an_extra_that_another_setup_fetched_meanwhile(folder, driver, monkeypatch):
    rename = jars.Path.rename

    def after_another(source, target):
        target.mkdir()
        (target / driver).write_text("another's")
        return rename(source, target)

    monkeypatch.setattr(jars.Path, "rename", after_another)
    assert jars.fetch_extra("postgresql") == folder / "postgresql"
    assert _files(folder) == {f"postgresql/{driver}": "another's"}


def test_an_extra_brings_what_pyspark_has_not(folder, monkeypatch, tmp_path):
    pyspark = tmp_path / "pyspark"
    pyspark.mkdir()
    (pyspark / "jsr305-3.0.0.jar").touch()
    resolved = (
        "jsr305-3.0.2.jar",
        "kafka-clients-3.9.2.jar",
        "spark-sql-kafka-0-10_2.13-4.2.0.jar",
    )

    def resolve(coordinate, excluded, ivy, scratch, log):
        assert (coordinate, excluded) == (EXTRAS["kafka"][0], ())
        (ivy / "jars").mkdir(parents=True)
        for name in resolved:
            (ivy / "jars" / f"org.some.where_{name}").write_text(name)

    monkeypatch.setattr(jars, "_resolve", resolve)
    monkeypatch.setattr(jars, "pyspark_jars", lambda: pyspark)
    monkeypatch.setattr(jars, "find_java", lambda: None)
    assert jars.extra_jars() == []
    assert jars.fetch_extra("kafka") == folder / "kafka"
    assert [jar.name for jar in jars.extra_jars()] == list(resolved[1:])
    monkeypatch.setattr(jars, "_resolve", lambda *arguments: pytest.fail("fetched twice"))
    assert jars.fetch_extra("kafka") == folder / "kafka"
    for name in JARS:
        (folder / name).touch()
    assert [jar.name for jar in jars.require_jars()] == [*JARS, *resolved[1:]]


def test_the_connector_of_s3_is_that_of_pysparks_hadoop(folder, monkeypatch):
    """Hadoop's parts belong together, in one version; the SDK's bundle is left out."""
    names = [jar.name for jar in jars.pyspark_jars().glob("hadoop-client-api-*.jar")]
    assert names == [f"hadoop-client-api-{HADOOP}.jar"]
    asked = []

    def resolve(coordinate, excluded, ivy, scratch, log):
        asked.append((coordinate.split(","), excluded))
        (ivy / "jars").mkdir(parents=True)
        for name in (f"hadoop-aws-{HADOOP}.jar", "netty-common-4.1.126.Final.jar", "s3-2.35.4.jar"):
            (ivy / "jars" / f"org.some.where_{name}").write_text(name)

    monkeypatch.setattr(jars, "_resolve", resolve)
    monkeypatch.setattr(jars, "find_java", lambda: None)
    assert jars.fetch_extra("s3") == jars.fetch_extra("s3") == folder / "s3"
    [(coordinates, excluded)] = asked
    assert coordinates[0] == f"org.apache.hadoop:hadoop-aws:{HADOOP}"
    assert f"software.amazon.awssdk:s3:{AWS_SDK}" in coordinates
    assert "software.amazon.awssdk:bundle" in excluded
    # pyspark has Netty, in its own version.
    assert [jar.name for jar in jars.extra_jars()] == [f"hadoop-aws-{HADOOP}.jar", "s3-2.35.4.jar"]
