"""A JVM that starts fast: the classes of Spark and Delta stand in an archive (decision 18)."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import signal
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dbt_floodmark.errors import ArchiveError
from dbt_floodmark.spark.conf import (
    CLASS_PATH,
    JAVA_OPTIONS,
    LOCAL_FOLDER,
    LOCAL_JAR,
    quoted,
    spark_conf,
)
from dbt_floodmark.spark.home import Workplace, spark_default
from dbt_floodmark.spark.jars import jar_folder, pyspark_jars, require_jars
from dbt_floodmark.spark.java import find_java

#: The optimizing compiler waits until code has run ten times as often as by default. On one core
#: a run of small models waits for it, and is over before what it does pays.
LATE_COMPILER = (
    "-XX:Tier4InvocationThreshold=50000 -XX:Tier4MinInvocationThreshold=6000 "
    "-XX:Tier4CompileThreshold=150000 -XX:Tier4BackEdgeThreshold=400000"
)
#: The heap and the compiled code stand in pages of 2 MB where the kernel has them.
HUGE_PAGES = "-XX:+UseTransparentHugePages"
#: Cores up to which the collector that stops all threads is the cheapest.
FEW_CORES = 2
#: Seconds that making the archive may take; on two cores it takes about one minute.
MAKE_TIMEOUT = 300.0

_KERNEL_PAGES = Path("/sys/kernel/mm/transparent_hugepage/enabled")
_COLLECTOR = re.compile(r"-XX:\+Use\w+GC\b")
_ARCHIVE = re.compile(r"-Xshare|SharedArchiveFile|ArchiveClassesAtExit")
#: Where a user may give the JVM options that are not in the settings.
_OPTION_VARIABLES = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS", "_JAVA_OPTIONS")
#: Options that Spark puts before those of `JAVA_OPTIONS`.
_DEFAULT_OPTIONS = "spark.driver.defaultJavaOptions"

#: What a batch sends, on little data: the classes that it loads go into the archive.
_WARM_UP = (
    "create schema warm",
    "create table warm.t (id bigint, v string, at timestamp) using delta",
    "insert into warm.t select id, 'v', timestamp'2024-01-01' from range(100)",
    "create table warm.stage using parquet as select id + 50 as id, v, at from warm.t",
    "select max(at), count(*), count_if(v is null) from warm.stage",
    "select to_json(struct(id, v)) from warm.t order by id desc limit 1",
    "merge into warm.t as t using warm.stage as s on t.id <=> s.id "
    "when matched and t.v <> s.v then update set * when not matched then insert *",
    "describe history warm.t limit 3",
    "describe detail warm.t",
    "describe table extended warm.t",
    "show table extended in warm like '*'",
    "drop table warm.stage",
)


def fast_start(conf: Mapping[str, str], stays: bool = False) -> dict[str, str]:
    """Return the settings with options of a JVM that starts fast, where Spark runs on this machine.

    One that ``stays`` for many runs earns back what the optimizing compiler costs on one core.

    What the user gives comes behind them and wins. An archive that does not fit is not read: the
    JVM compares it with its own version and the jars.
    """
    if not conf["spark.master"].startswith("local"):
        return dict(conf)
    given = _given(conf)
    cores = _cores()
    options = [LATE_COMPILER] if cores == 1 and not stays else []
    if cores <= FEW_CORES and not _COLLECTOR.search(given):
        options.append("-XX:+UseSerialGC")
    if _has_huge_pages():
        options.append(HUGE_PAGES)
    archive = archive_path(conf)
    if archive.is_file() and not _ARCHIVE.search(given):
        options += [quoted(f"-XX:SharedArchiveFile={archive}"), "-Xlog:cds=off"]
    return {**conf, JAVA_OPTIONS: " ".join([*options, conf[JAVA_OPTIONS]])}


def _given(conf: Mapping[str, str]) -> str:
    """Return all options of the JVM: those of the settings, and what the user gives elsewhere."""
    return "\n".join(
        [
            conf[JAVA_OPTIONS],
            conf.get(_DEFAULT_OPTIONS, ""),
            spark_default(_DEFAULT_OPTIONS),
            *(os.environ.get(name, "") for name in _OPTION_VARIABLES),
        ]
    )


def _cores() -> int:
    """Return how many cores this process, and a JVM that it starts, may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _has_huge_pages() -> bool:
    """Tell whether the kernel gives huge pages to those that ask; else the JVM would warn."""
    try:
        chosen = _KERNEL_PAGES.read_text()
    except OSError:
        return False
    return "[madvise]" in chosen or "[always]" in chosen


def archive_path(conf: Mapping[str, str]) -> Path:
    """Return where the archive for this Java and these jars belongs: its name changes with them."""
    java = find_java().executable.resolve()
    jars = [Path(entry) for entry in conf[CLASS_PATH].split(os.pathsep)]
    seen = hashlib.sha256(str(java).encode())
    for file in (java, *jars, *sorted(pyspark_jars().glob("*.jar"))):
        stat = file.stat() if file.exists() else None
        seen.update(f"{file} {stat and (stat.st_size, stat.st_mtime_ns)}\n".encode())
    return archive_folder() / f"classes-{seen.hexdigest()[:16]}.jsa"


def archive_folder() -> Path:
    """Return the folder of archives, in that of the jars."""
    return jar_folder() / "archive"


def make_archive() -> Path:
    """Make the archive where it is missing, with a Spark of its own, and return its path.

    Archives of other jars or another Java are removed.

    Raises:
        JarsError: the jars of Delta are missing.
        ArchiveError: the JVM did not make it; Spark starts without.
    """
    require_jars()
    folder = archive_folder()
    log = folder / "archive.log"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _write_local_jar()
        # In the folder itself: only within one file system does a rename put a whole file there.
        with tempfile.TemporaryDirectory(prefix=".archive-", dir=folder) as scratch:
            archive = archive_path(_conf(Path(scratch)))
            if not archive.is_file():
                _make_in(Path(scratch), log)
                _made_in(Path(scratch)).replace(archive)
        for other in folder.glob("classes-*"):
            if other.stem != archive.stem:
                other.unlink(missing_ok=True)
    except (OSError, subprocess.SubprocessError) as exc:
        raise ArchiveError(
            f"The archive of Spark's classes could not be made in {folder} ({exc}). Spark starts "
            f"without it, some seconds slower. What the JVM said is in {log.name} there."
        ) from exc
    return archive


def _make_in(scratch: Path, log: Path) -> None:
    """Make the archive in a process of its own, which ends with this call, and so does its JVM.

    Raises:
        TimeoutError: it took longer than `MAKE_TIMEOUT`.
        CalledProcessError: it failed.
    """
    command = [sys.executable, "-m", "dbt_floodmark.spark.archive", str(scratch)]
    with (
        open(log, "wb") as said,
        subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=said, stderr=said, start_new_session=True
        ) as process,
    ):
        try:
            code = process.wait(MAKE_TIMEOUT)
        except BaseException as exc:
            # The process and its JVM, which are a group of their own.
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            if isinstance(exc, subprocess.TimeoutExpired):
                raise TimeoutError(f"it took longer than {MAKE_TIMEOUT:.0f} seconds") from None
            raise
    if code:
        raise subprocess.CalledProcessError(code, command)


def make_in_background(conf: Mapping[str, str]) -> None:
    """Have a process of its own make the archive where it is missing, once for jars and Java.

    It takes what time of the processor others leave, and ends by itself.
    """
    if not conf["spark.master"].startswith("local") or _ARCHIVE.search(_given(conf)):
        return
    if conf[CLASS_PATH] != _conf(archive_folder())[CLASS_PATH]:
        return
    archive = archive_path(conf)
    if archive.is_file():
        return
    try:
        archive.parent.mkdir(parents=True, exist_ok=True)
        os.close(os.open(archive.with_suffix(".tried"), os.O_CREAT | os.O_EXCL))
        subprocess.Popen(
            [sys.executable, "-m", "dbt_floodmark.spark.archive"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
    except OSError:
        # It was tried before, or the folder is not ours.
        return


def _write_local_jar() -> None:
    """Put what stands before Hadoop's own files into a jar: archives know no folders."""
    jar = jar_folder() / LOCAL_JAR
    if jar.is_file():
        return
    part = jar.with_suffix(f".{os.getpid()}")
    with zipfile.ZipFile(part, "w") as opened:
        for file in sorted(LOCAL_FOLDER.iterdir()):
            opened.write(file, file.name)
    part.replace(jar)


def _conf(scratch: Path) -> dict[str, str]:
    return spark_conf(Workplace.session(scratch), require_jars())


def _made_in(scratch: Path) -> Path:
    return scratch / "classes.jsa"


def _main(scratch: Path) -> None:
    """Run the statements of a batch, and have the JVM write down its classes as it ends."""
    from pyspark import SparkContext

    from dbt_floodmark.spark.gateway import root_session

    option = quoted(f"-XX:ArchiveClassesAtExit={_made_in(scratch)}")
    session = root_session(scratch, {JAVA_OPTIONS: option})
    for statement in _WARM_UP:
        session.sql(statement).collect()
    session.stop()
    gateway: Any = SparkContext._gateway
    gateway.shutdown()
    # The JVM leaves when nobody can ask it any more.
    gateway.proc.stdin.close()
    gateway.proc.wait()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        _main(Path(sys.argv[1]))
    else:
        os.nice(19)
        make_archive()
