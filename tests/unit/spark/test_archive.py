"""Options of a JVM that starts fast: only where they fit, and never in the user's way."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from dbt_floodmark.cli.setup import setup
from dbt_floodmark.errors import ArchiveError
from dbt_floodmark.spark import archive
from dbt_floodmark.spark.archive import HUGE_PAGES, LATE_COMPILER, archive_path, fast_start
from dbt_floodmark.spark.conf import CLASS_PATH, JAVA_OPTIONS, LOCAL_FOLDER, LOCAL_JAR
from dbt_floodmark.spark.java import find_java
from dbt_floodmark.spark.processes import is_alive
from dbt_floodmark.versions import JARS

SERIAL = "-XX:+UseSerialGC"
CORES = archive._cores
HUGE = archive._has_huge_pages
POPEN = subprocess.Popen


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of jars with nothing in them, on a machine of two cores."""
    jars = tmp_path / "jars"
    jars.mkdir()
    for name in JARS:
        (jars / name).write_bytes(b"")
    monkeypatch.setenv("FLOODMARK_JARS", str(jars))
    monkeypatch.setattr(archive, "_cores", lambda: 2)
    monkeypatch.setattr(archive, "_has_huge_pages", lambda: False)
    for name in (*archive._OPTION_VARIABLES, "SPARK_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    return jars


def settings(folder: Path, options: str = "-Da=b", master: str = "local[*]") -> dict[str, str]:
    paths = [folder / name for name in JARS] + (
        [folder / LOCAL_JAR] if (folder / LOCAL_JAR).exists() else [LOCAL_FOLDER]
    )
    jars = os.pathsep.join(map(str, paths))
    return {"spark.master": master, CLASS_PATH: jars, JAVA_OPTIONS: options}


def put(folder: Path) -> Path:
    """An archive where the one for these jars belongs."""
    path = archive_path(settings(folder))
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"classes")
    return path


def test_ours_come_first_and_what_the_user_gives_wins(folder: Path) -> None:
    path = put(folder)
    given = fast_start(settings(folder))
    assert given[JAVA_OPTIONS] == f"{SERIAL} -XX:SharedArchiveFile={path} -Xlog:cds=off -Da=b"
    assert given[CLASS_PATH] == settings(folder)[CLASS_PATH]


@pytest.mark.parametrize(
    ("cores", "stays", "is_late"),
    [(1, False, True), (1, True, False), (2, False, False), (2, True, False)],
)
def test_the_optimizing_compiler_waits_where_a_run_has_one_core(
    folder: Path, monkeypatch: pytest.MonkeyPatch, cores: int, stays: bool, is_late: bool
) -> None:
    """A server has time for it, and a second core runs it beside Spark."""
    monkeypatch.setattr(archive, "_cores", lambda: cores)
    given = fast_start(settings(folder), stays=stays)[JAVA_OPTIONS]
    assert (LATE_COMPILER in given) == is_late


def test_the_cores_of_a_process_are_those_it_is_bound_to(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: {3}, raising=False)
    assert CORES() == 1
    # Only Linux binds processes to cores.
    monkeypatch.delattr(os, "sched_getaffinity")
    assert CORES() == 8


@pytest.mark.parametrize(
    ("chosen", "has"),
    [
        ("always [madvise] never\n", True),
        ("[always] madvise never\n", True),
        ("always madvise [never]\n", False),
        (None, False),
    ],
)
def test_huge_pages_are_asked_where_the_kernel_gives_them(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chosen: str | None, has: bool
) -> None:
    kernel = tmp_path / "enabled"
    if chosen is not None:
        kernel.write_text(chosen)
    monkeypatch.setattr(archive, "_has_huge_pages", HUGE)
    monkeypatch.setattr(archive, "_KERNEL_PAGES", kernel)
    given = fast_start(settings(folder, "-XX:-UseTransparentHugePages"))[JAVA_OPTIONS]
    assert (HUGE_PAGES in given) == has
    # What the user says comes later, and wins.
    assert given.endswith(" -XX:-UseTransparentHugePages")


def test_java_says_nothing_of_the_options_on_this_machine() -> None:
    options = [HUGE_PAGES] if HUGE() else []
    told = subprocess.run(
        [
            str(find_java().executable),
            "-XX:+UseSerialGC",
            *options,
            "-XX:+PrintFlagsFinal",
            "-version",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "warning" not in told.stdout + told.stderr.lower()
    assert re.search(r"UseTransparentHugePages\s+= (\w+)", told.stdout)[1] == str(HUGE()).lower()  # type: ignore[index]


def test_a_cluster_is_left_alone(folder: Path) -> None:
    put(folder)
    conf = settings(folder, master="spark://host:7077")
    assert fast_start(conf) == conf


DEFAULTS = "spark.driver.defaultJavaOptions"


@pytest.mark.parametrize("place", [JAVA_OPTIONS, DEFAULTS, *archive._OPTION_VARIABLES])
def test_a_collector_that_the_user_chose_stays_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    """Two collectors end the JVM as it starts."""
    chosen = "-Xmx2g -XX:+UseG1GC"
    conf = settings(folder)
    if place in (JAVA_OPTIONS, DEFAULTS):
        conf[place] = chosen
    else:
        monkeypatch.setenv(place, chosen)
    assert SERIAL not in fast_start(conf)[JAVA_OPTIONS]


@pytest.mark.parametrize(
    ("key", "is_theirs"),
    # floodmark's settings take the place of the second, and the third is of other processes.
    [(DEFAULTS, True), (JAVA_OPTIONS, False), ("spark.executor.defaultJavaOptions", False)],
)
@pytest.mark.parametrize("mark", [" ", "=", "\t"])
def test_a_collector_of_sparks_own_defaults_stays_alone(
    folder: Path, monkeypatch: pytest.MonkeyPatch, key: str, mark: str, is_theirs: bool
) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(folder))
    text = f"# é\n# {DEFAULTS} -XX:+UseG1GC\n{key}{mark}-Da=b -XX:+UseZGC\n"
    (folder / "spark-defaults.conf").write_text(text, "latin-1")
    assert (SERIAL not in fast_start(settings(folder))[JAVA_OPTIONS]) == is_theirs


def test_more_cores_keep_javas_own_collector(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "_cores", lambda: 8)
    assert SERIAL not in fast_start(settings(folder))[JAVA_OPTIONS]


@pytest.mark.parametrize("given", ["-Xshare:off", "-XX:SharedArchiveFile=/own.jsa"])
def test_the_users_own_archive_is_the_only_one(folder: Path, given: str) -> None:
    path = put(folder)
    assert str(path) not in fast_start(settings(folder, given))[JAVA_OPTIONS]


def test_no_archive_no_option(folder: Path) -> None:
    assert "SharedArchiveFile" not in fast_start(settings(folder))[JAVA_OPTIONS]


def test_a_path_with_a_blank_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jars = tmp_path / "my jars" / "jars"
    jars.mkdir(parents=True)
    monkeypatch.setenv("FLOODMARK_JARS", str(jars))
    path = put(jars)
    assert f'"-XX:SharedArchiveFile={path}"' in fast_start(settings(jars))[JAVA_OPTIONS]


def test_other_jars_or_another_java_are_another_archive(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = archive_path(settings(folder))
    assert archive_path(settings(folder)) == first
    (folder / JARS[0]).write_bytes(b"grown")
    grown = archive_path(settings(folder))
    os.utime(folder / JARS[0], (1, 1))
    dated = archive_path(settings(folder))
    more = archive_path(settings(folder) | {CLASS_PATH: str(folder / JARS[0])})
    monkeypatch.setattr(archive, "find_java", lambda: SimpleNamespace(executable=Path("/java/21")))
    assert len({first, grown, dated, more, archive_path(settings(folder))}) == 5


@pytest.mark.parametrize("content", [None, b"", b"no archive", b"\x00" * 65536])
def test_java_starts_whatever_the_archive_is(tmp_path: Path, content: bytes | None) -> None:
    broken = tmp_path / "classes.jsa"
    if content is not None:
        broken.write_bytes(content)
    java = [str(find_java().executable), *LATE_COMPILER.split()]
    told = subprocess.run(
        [*java, f"-XX:SharedArchiveFile={broken}", "-Xlog:cds=off", "-version"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0 and told.stdout == ""


def refuse(*args: Any, **settings: Any) -> Any:
    raise OSError(28, "No space left on device")


@pytest.mark.parametrize("refused", ["Popen", "mkdir", "ZipFile"])
def test_an_archive_that_cannot_be_made_is_no_reason_to_fail(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], refused: str
) -> None:
    """Also where the folder of the jars belongs to somebody else."""
    owner = {"Popen": subprocess, "mkdir": Path, "ZipFile": zipfile}[refused]
    monkeypatch.setattr(owner, refused, refuse)
    with pytest.raises(ArchiveError) as told:
        archive.make_archive()
    said = (
        f"The archive of Spark's classes could not be made in {folder / 'archive'} ([Errno 28] No space left on "
        "device). Spark starts without it, some seconds slower. What the JVM said is in archive.log there."
    )
    assert str(told.value) == said
    setup.main([], standalone_mode=False)
    assert said in " ".join(capsys.readouterr().out.split())
    assert not list(folder.rglob("*.jsa"))


@pytest.mark.parametrize("is_interrupted", [False, True])
def test_a_jvm_that_does_not_end_in_time_is_ended(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_interrupted: bool
) -> None:
    """It would go on for minutes, with a whole core, when nobody waits for it any more."""
    told = tmp_path / "pid"

    class Slow(POPEN):  # type: ignore[type-arg, valid-type, misc]
        def __init__(self, command: list[str], **settings: Any) -> None:
            super().__init__(
                ["sh", "-c", f"sleep 600 & echo $! > {told}.part; mv {told}.part {told}; wait"],
                **settings,
            )

        def wait(self, timeout: float | None = None) -> int:
            deadline = time.monotonic() + 20
            while not told.exists() and time.monotonic() < deadline:
                time.sleep(0.01)
            if is_interrupted and timeout:
                raise KeyboardInterrupt
            return super().wait(timeout)

    monkeypatch.setattr(subprocess, "Popen", Slow)
    monkeypatch.setattr(archive, "MAKE_TIMEOUT", 0.01)
    with pytest.raises(KeyboardInterrupt if is_interrupted else ArchiveError) as raised:
        archive.make_archive()
    if not is_interrupted:
        assert "(it took longer than 0 seconds). Spark starts without it" in str(raised.value)
    grandchild = int(told.read_text())
    deadline = time.monotonic() + 20
    while is_alive(grandchild) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not is_alive(grandchild)
    assert [file.name for file in (folder / "archive").iterdir()] == ["archive.log"]


def test_a_process_that_fails_makes_no_archive(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        subprocess,
        "Popen",
        lambda command, **settings: POPEN(
            [sys.executable, "-c", "raise SystemExit(3)"], **settings
        ),
    )
    with pytest.raises(ArchiveError, match="returned non-zero exit status 3"):
        archive.make_archive()


def test_a_new_archive_takes_the_place_of_the_old(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[list[str]] = []

    def make(command: list[str], **settings: Any) -> subprocess.Popen[bytes]:
        made.append(command)
        (Path(command[-1]) / "classes.jsa").write_bytes(b"new")
        return POPEN([sys.executable, "-c", ""], **settings)

    monkeypatch.setattr(subprocess, "Popen", make)
    old = folder / "archive" / "classes-0.jsa"
    old.parent.mkdir()
    old.write_bytes(b"old")
    path = archive.make_archive()
    assert path.read_bytes() == b"new" and not old.exists()
    assert archive.make_archive() == path and len(made) == 1
    assert [file.name for file in path.parent.iterdir() if file.name.startswith(".")] == []
    with zipfile.ZipFile(folder / LOCAL_JAR) as jar:
        assert jar.namelist() == ["yarn-default.xml"]


def test_the_first_run_makes_the_archive_once(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    monkeypatch.setattr(subprocess, "Popen", lambda command, **settings: started.append(command))
    conf = fast_start(settings(folder))
    for _ in range(2):
        archive.make_in_background(conf)
    assert len(started) == 1 and started[0][-1] == "dbt_floodmark.spark.archive"
    # Other jars are another archive; one that is there is not made again; a cluster needs none.
    (folder / JARS[0]).write_bytes(b"grown")
    archive.make_in_background(conf)
    assert len(started) == 2
    os.utime(folder / JARS[0], (1, 1))
    put(folder)
    archive.make_in_background(conf)
    archive.make_in_background(fast_start(settings(folder, master="spark://host:7077")))
    (folder / JARS[0]).write_bytes(b"other")
    archive.make_in_background(conf | {CLASS_PATH: f"/own.jar:{conf[CLASS_PATH]}"})
    # Nobody would read it.
    monkeypatch.setenv("_JAVA_OPTIONS", "-Xshare:off")
    archive.make_in_background(conf)
    assert len(started) == 2
