"""The Delta jars: where they are, and how they get there."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from dbt_floodmark.errors import JarsError
from dbt_floodmark.java import find_java
from dbt_floodmark.versions import JAR_COORDINATE, JARS

JARS_VARIABLE = "FLOODMARK_JARS"

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


def require_jars() -> list[Path]:
    """Return the paths of all jars.

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
    return [folder / name for name in JARS]


def fetch_jars() -> Path:
    """Fetch the jars with the Ivy that Spark brings, and return their folder.

    Nothing is done when they are there. They appear all at once: the folder is filled
    elsewhere and renamed.

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
        _resolve(ivy, Path(scratch), log)
        filled = Path(scratch) / "jars"
        filled.mkdir()
        for name in JARS:
            _copy_jar(ivy, name, filled, log)
        if folder.exists():
            folder.rename(Path(scratch) / "old")
        filled.rename(folder)
    return folder


def _resolve(ivy: Path, scratch: Path, log: Path) -> None:
    import pyspark

    spark_home = Path(pyspark.__file__).parent
    script = scratch / "nothing.py"
    script.write_text("", "utf-8")
    command = [
        str(spark_home / "bin" / "spark-submit"),
        "--master",
        "local[1]",
        "--packages",
        JAR_COORDINATE,
        "--exclude-packages",
        ",".join(_EXCLUDED),
        "--conf",
        f"spark.jars.ivy={ivy}",
        str(script),
    ]
    environment = {**os.environ, "SPARK_HOME": str(spark_home)}
    with open(log, "w", encoding="utf-8") as output:
        answer = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=environment,
            cwd=scratch,
            check=False,
        )
    if answer.returncode != 0:
        raise JarsError(
            f"The Delta jars ({JAR_COORDINATE}) could not be fetched, which needs the network "
            f"once: connect and run `floodmark setup` again, or copy them into {jar_folder()} "
            f"(what Ivy said is in {log})."
        )


def _copy_jar(ivy: Path, name: str, target: Path, log: Path) -> None:
    found = list((ivy / "jars").glob(f"*_{name}"))
    if not found:
        raise JarsError(
            f"Ivy answered without {name}: run `floodmark setup` again (what it said is in {log})."
        )
    shutil.copyfile(found[0], target / name)
