"""A fitting Java, or one sentence."""

import pytest

from dbt_floodmark.errors import JavaError
from dbt_floodmark.spark.java import find_java, parse_major


def _fake(home, version):
    (home / "bin").mkdir(parents=True)
    java = home / "bin" / "java"
    java.write_text("#!/bin/sh\nexit 1\n")
    java.chmod(0o755)
    (home / "release").write_text(f'IMPLEMENTOR="x"\nJAVA_VERSION="{version}"\n')
    return java


@pytest.mark.parametrize(
    ("version", "major"), [("17.0.15", 17), ("1.8.0_392", 8), ("21", 21), ("22-ea", 22), ("", 0)]
)
def test_both_ways_of_counting(version, major):
    assert parse_major(version) == major


def test_java_home_wins(tmp_path, monkeypatch):
    java = _fake(tmp_path / "jdk", "17.0.15")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    found = find_java()
    assert (found.executable, found.major) == (java, 17)


def test_too_old(tmp_path, monkeypatch):
    java = _fake(tmp_path / "jdk", "1.8.0_392")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    with pytest.raises(JavaError) as caught:
        find_java()
    assert str(caught.value) == (
        f"Java 8 at {java} is too old, Spark needs Java 17 or newer: "
        "install Java 17 and put it on PATH, or point JAVA_HOME at it."
    )


def test_none(tmp_path, monkeypatch):
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(JavaError) as caught:
        find_java()
    assert str(caught.value) == (
        "No Java was found, Spark needs Java 17 or newer: "
        "install Java 17 and put it on PATH, or point JAVA_HOME at it."
    )


def test_java_home_without_java(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(JavaError) as caught:
        find_java()
    assert str(caught.value) == (
        f"JAVA_HOME is {tmp_path}, but there is no bin/java in it: "
        "install Java 17 and put it on PATH, or point JAVA_HOME at it."
    )


def test_java_that_does_not_tell(tmp_path, monkeypatch):
    java = _fake(tmp_path / "jdk", "17")
    (tmp_path / "jdk" / "release").unlink()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "jdk"))
    with pytest.raises(JavaError) as caught:
        find_java()
    assert str(caught.value).startswith(f"Java at {java} does not report its version: install Java")
