"""The jars are there, or one sentence says how they come."""

import subprocess
from types import SimpleNamespace

import pytest

from dbt_floodmark import jars
from dbt_floodmark.errors import JarsError
from dbt_floodmark.versions import EXTRAS, JAR_COORDINATE, JARS


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
        f"(what Ivy said is in {folder.parent / 'ivy.log'})."
    )
    assert not folder.exists()


def test_fetched_all_at_once_and_only_once(folder, monkeypatch):
    calls = []

    def resolve(coordinate, excluded, ivy, scratch, log):
        calls.append(coordinate)
        (ivy / "jars").mkdir(parents=True)
        for name in JARS:
            (ivy / "jars" / f"io.delta_{name}").write_text(name)

    monkeypatch.setattr(jars, "_resolve", resolve)
    monkeypatch.setattr(jars, "find_java", lambda: None)
    assert jars.fetch_jars() == folder
    assert jars.fetch_jars() == folder
    assert calls == [JAR_COORDINATE]
    assert [path.name for path in jars.require_jars()] == list(JARS)
    assert [one.name for one in folder.parent.iterdir()] == ["jars"]


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
        assert (coordinate, excluded) == (EXTRAS["kafka"], ())
        (ivy / "jars").mkdir(parents=True)
        for name in resolved:
            (ivy / "jars" / f"org.some.where_{name}").write_text(name)

    monkeypatch.setattr(jars, "_resolve", resolve)
    monkeypatch.setattr(jars, "_pyspark_jars", lambda: pyspark)
    monkeypatch.setattr(jars, "find_java", lambda: None)
    assert jars.extra_jars() == []
    assert jars.fetch_extra("kafka") == folder / "kafka"
    assert [jar.name for jar in jars.extra_jars()] == list(resolved[1:])
    monkeypatch.setattr(jars, "_resolve", lambda *arguments: pytest.fail("fetched twice"))
    assert jars.fetch_extra("kafka") == folder / "kafka"
    for name in JARS:
        (folder / name).touch()
    assert [jar.name for jar in jars.require_jars()] == [*JARS, *resolved[1:]]
