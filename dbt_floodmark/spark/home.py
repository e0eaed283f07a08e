"""floodmark's home: the folder that holds warehouses, metastores, locks and logs."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from dbt_floodmark.errors import HomeError

HOME_VARIABLE = "FLOODMARK_HOME"
FOLDER = ".floodmark"


def resolve_home(project_root: str | Path | None = None) -> Path:
    """Return ``FLOODMARK_HOME``, or ``.floodmark`` under the project (default: here)."""
    chosen = os.environ.get(HOME_VARIABLE)
    if chosen:
        return Path(chosen).expanduser().resolve()
    return Path(project_root or Path.cwd()).resolve() / FOLDER


@dataclass(frozen=True)
class Workplace:
    """The files of one Spark application: the session's, or the Thrift server's."""

    root: Path

    @classmethod
    def session(cls, home: Path) -> Workplace:
        """Return the workplace of Spark inside the dbt process."""
        return cls(home / "session")

    @classmethod
    def thrift(cls, home: Path) -> Workplace:
        """Return the workplace of the local Thrift server."""
        return cls(home / "thrift")

    @property
    def warehouse(self) -> Path:
        """Where managed tables lie."""
        return self.root / "warehouse"

    @property
    def shared_warehouse(self) -> Path:
        """Where they lie when the metastore is one that several processes share.

        It is the same for all of them, and none of Derby's: that metastore knows other tables.
        """
        return self.root.parent / "shared" / "warehouse"

    @property
    def metastore(self) -> Path:
        """Derby's database folder."""
        return self.root / "metastore_db"

    @property
    def log(self) -> Path:
        """Everything Spark, Hive and the JVM print."""
        return self.root / "spark.log"

    @property
    def lock(self) -> Path:
        """Held by the process that has the metastore open; `lock.json` beside it names that one."""
        return self.root / "lock"

    def create(self) -> Workplace:
        """Make the folder, and return this.

        Raises:
            HomeError: it cannot be made or written.
        """
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            self.lock.touch()
        except OSError as exc:
            raise HomeError(
                f"{self.root} cannot be written ({exc.strerror}). Spark's log, metastore and "
                "warehouse belong there: make it writable, or name another folder in "
                f"{HOME_VARIABLE}."
            ) from exc
        return self


def pyspark_home() -> Path:
    """Return the folder of the Spark that pyspark brings: another may not fit floodmark's jars."""
    import pyspark

    return Path(pyspark.__file__).parent


def spark_default(name: str) -> str:
    """Return what ``spark-defaults.conf`` says of a setting of Spark; empty where it says nothing.

    Settings that floodmark gives Spark take its place.
    """
    folder = os.environ.get("SPARK_CONF_DIR") or pyspark_home() / "conf"
    try:
        text = Path(folder, "spark-defaults.conf").read_text("utf-8", errors="replace")
    except OSError:
        return ""
    found = re.findall(
        rf"^[ \t]*{re.escape(name)}(?:[ \t]*[=:][ \t]*|[ \t]+)(.*)", text, re.MULTILINE
    )
    return found[-1].strip() if found else ""
