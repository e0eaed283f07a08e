"""The Delta jars: where they are, and how they get there."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from dbt_floodmark.errors import JarsError
from dbt_floodmark.spark.conf import METASTORE_URL
from dbt_floodmark.spark.home import pyspark_home
from dbt_floodmark.spark.java import environment_elsewhere, find_java
from dbt_floodmark.versions import EXTRAS, EXTRAS_WITHOUT, JAR_COORDINATE, JARS

JARS_VARIABLE = "FLOODMARK_JARS"

#: A repository may fail to answer once; what came by then stays in Ivy's cache.
_ATTEMPTS = 2

#: Groups of Delta's dependencies that pyspark already brings, or that nobody here calls.
_EXCLUDED = (
    "org.apache.hadoop:hadoop-client-api",
    "org.apache.hadoop:hadoop-client-runtime",
    "org.apache.parquet:parquet-hadoop",
    "io.unitycatalog:unitycatalog-client",
    "io.unitycatalog:unitycatalog-hadoop",
    "com.fasterxml.jackson.core:jackson-databind",
    "com.fasterxml.jackson.core:jackson-core",
    "com.fasterxml.jackson.core:jackson-annotations",
    "com.fasterxml.jackson.datatype:jackson-datatype-jdk8",
    "org.roaringbitmap:RoaringBitmap",
    "org.locationtech.jts:jts-core",
    "org.slf4j:slf4j-api",
)


def jar_folder() -> Path:
    """Return where the jars belong: ``FLOODMARK_JARS``, the venv, or the user's cache."""
    chosen = os.environ.get(JARS_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().resolve()
    if sys.prefix != sys.base_prefix:
        return Path(sys.prefix) / "share" / "floodmark" / "jars"
    return Path.home() / ".cache" / "floodmark" / "jars"


def missing_jars(folder: Path | None = None) -> list[str]:
    """Return the names of the jars that are not there."""
    place = folder or jar_folder()
    return [name for name in JARS if not (place / name).is_file()]


def extra_jars() -> list[Path]:
    """Return the paths of the jars that `floodmark setup --with` fetched."""
    folder = jar_folder()
    return [jar for name in sorted(EXTRAS) for jar in sorted((folder / name).glob("*.jar"))]


def require_jars() -> list[Path]:
    """Return the paths of all jars: Delta's, and of the extras those that are there.

    Raises:
        JarsError: some are missing.
    """
    folder = jar_folder()
    missing = missing_jars(folder)
    if missing:
        raise JarsError(
            f"The Delta jars are not in {folder} ({missing[0]} is missing): "
            "run `floodmark setup` once."
        )
    return [*(folder / name for name in JARS), *extra_jars()]


def require_metastore_driver(conf: Mapping[str, str]) -> None:
    """See that the JDBC driver of a metastore on PostgreSQL is there.

    Raises:
        JarsError: it is not; Hive's own words for it are a page long.
    """
    if not conf.get(METASTORE_URL, "").startswith("jdbc:postgresql:"):
        return
    given = [conf.get("spark.jars", ""), conf.get("spark.driver.extraClassPath", "")]
    places = re.split(rf"[,{os.pathsep}]", ",".join(given))
    is_there = "org.postgresql:" in conf.get("spark.jars.packages", "") or any(
        re.fullmatch(r"postgresql-[\w.-]+\.jar|\*", Path(place).name) for place in places
    )
    if not is_there and not any(pyspark_jars().glob("postgresql-*.jar")):
        raise JarsError(
            f"The metastore is on PostgreSQL and its JDBC driver is not in {jar_folder()}",
            "run `floodmark setup --with postgresql` once",
        )


def fetch_extra(name: str) -> Path:
    """Fetch an extra of `EXTRAS` with what it needs and pyspark does not bring; return its folder.

    Nothing is done when it is there. It appears whole: the folder is filled elsewhere and renamed.

    Raises:
        JavaError: Ivy needs Java.
        JarsError: no network, an unexpected answer, or its folder holds something else, such as an
            older version.
    """
    folder = jar_folder() / name
    _, artifact, version = EXTRAS[name][0].split(":")
    wanted = folder / f"{artifact}-{version}.jar"
    if wanted.is_file():
        return folder
    if folder.is_dir() and any(folder.iterdir()):
        raise JarsError(
            f"{folder} has other jars than {wanted.name}: move them away and run `floodmark setup "
            f"--with {name}` again."
        )
    find_java()
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".jars-", dir=folder.parent) as scratch:
        ivy = Path(scratch) / "ivy"
        log = folder.parent.parent / "ivy.log"
        _resolve(",".join(EXTRAS[name]), EXTRAS_WITHOUT.get(name, ()), ivy, Path(scratch), log)
        filled = Path(scratch) / "jars"
        filled.mkdir()
        for jar in sorted((ivy / "jars").glob("*.jar")):
            # Ivy names a jar after its organisation too; what pyspark has, it has in its version.
            file = jar.name.partition("_")[2]
            if not any(pyspark_jars().glob(f"{_unversioned(file)}-[0-9]*.jar")):
                shutil.copyfile(jar, filled / file)
        try:
            filled.rename(folder)
        except OSError:
            # Another setup may have been quicker.
            if not wanted.is_file():
                raise
    return folder


def pyspark_jars() -> Path:
    """Return the folder of the jars that pyspark brings."""
    return pyspark_home() / "jars"


def _unversioned(jar: str) -> str:
    return re.split(r"-\d+\.\d", jar, maxsplit=1)[0]


def fetch_jars() -> Path:
    """Fetch the jars with the Ivy that Spark brings, and return their folder.

    Nothing is done when they are there. Each appears whole, and what else is in the folder stays:
    it may be somebody's own.

    Raises:
        JavaError: Ivy needs Java.
        JarsError: no network, or an unexpected answer.
    """
    folder = jar_folder()
    if not missing_jars(folder):
        return folder
    find_java()
    folder.parent.mkdir(parents=True, exist_ok=True)
    log = folder.parent / "ivy.log"
    with tempfile.TemporaryDirectory(prefix=".jars-", dir=folder.parent) as scratch:
        ivy = Path(scratch) / "ivy"
        _resolve(JAR_COORDINATE, _EXCLUDED, ivy, Path(scratch), log)
        _put([(_jar_of_ivy(ivy, name, log), name) for name in JARS], folder)
    return folder


def _resolve(
    coordinate: str, excluded: tuple[str, ...], ivy: Path, scratch: Path, log: Path
) -> None:
    spark_home = pyspark_home()
    script = scratch / "nothing.py"
    script.write_text("", "utf-8")
    command = [
        str(spark_home / "bin" / "spark-submit"),
        "--master",
        "local[1]",
        "--packages",
        coordinate,
        *(("--exclude-packages", ",".join(excluded)) if excluded else ()),
        "--conf",
        f"spark.jars.ivy={ivy}",
        # Spark runs the script when Ivy is done: the environment may name a Python for notebooks.
        "--conf",
        f"spark.pyspark.driver.python={sys.executable}",
        "--conf",
        f"spark.pyspark.python={sys.executable}",
        str(script),
    ]
    environment = {**environment_elsewhere(), "SPARK_HOME": str(spark_home)}
    with open(log, "w", encoding="utf-8") as output:
        for _ in range(_ATTEMPTS):
            answer = subprocess.run(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                cwd=scratch,
                check=False,
            )
            if answer.returncode == 0:
                return
    coordinate = coordinate.partition(",")[0]
    raise JarsError(
        f"The jars of {coordinate} could not be fetched, which needs the network once: "
        f"connect and run `floodmark setup` again, or copy them into {jar_folder()} "
        f"(Ivy's output is in {log})."
    )


def _jar_of_ivy(ivy: Path, name: str, log: Path) -> Path:
    found = list((ivy / "jars").glob(f"*_{name}"))
    if not found:
        raise JarsError(
            f"Ivy answered without {name}: run `floodmark setup` again (its output is in {log})."
        )
    return found[0]


def _put(jars: list[tuple[Path, str]], folder: Path) -> None:
    """Copy jars into a folder, each under a name, so that nobody ever sees half of one."""
    folder.mkdir(parents=True, exist_ok=True)
    # In the folder itself: only within one file system does a rename put a whole file there.
    with tempfile.TemporaryDirectory(prefix=".jars-", dir=folder) as scratch:
        for jar, name in jars:
            copied = Path(scratch) / name
            shutil.copyfile(jar, copied)
            copied.replace(folder / name)
