"""The jars are there, or one sentence says how they come."""

import subprocess
from types import SimpleNamespace

import pytest

from dbt_floodmark import jars
from dbt_floodmark.errors import JarsError
from dbt_floodmark.versions import JAR_COORDINATE, JARS


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
        f"The Delta jars ({JAR_COORDINATE}) could not be fetched, which needs the network once: "
        f"connect and run `floodmark setup` again, or copy them into {folder} "
        f"(what Ivy said is in {folder.parent / 'ivy.log'})."
    )
    assert not folder.exists()


def test_fetched_all_at_once_and_only_once(folder, monkeypatch):
    calls = []

    def resolve(ivy, scratch, log):
        calls.append(ivy)
        (ivy / "jars").mkdir(parents=True)
        for name in JARS:
            (ivy / "jars" / f"io.delta_{name}").write_text(name)

    monkeypatch.setattr(jars, "_resolve", resolve)
    monkeypatch.setattr(jars, "find_java", lambda: None)
    assert jars.fetch_jars() == folder
    assert jars.fetch_jars() == folder
    assert len(calls) == 1
    assert [path.name for path in jars.require_jars()] == list(JARS)
    assert [one.name for one in folder.parent.iterdir()] == ["jars"]
