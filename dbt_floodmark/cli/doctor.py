"""``floodmark doctor``: is everything there, and what to do where it is not."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from dbt_floodmark import versions
from dbt_floodmark.cli.output import console, table
from dbt_floodmark.errors import FloodmarkError
from dbt_floodmark.project.project import Project
from dbt_floodmark.project.runner import load_profile, require_project, target_options
from dbt_floodmark.spark.conf import is_shared_metastore, metastore_name, spark_conf
from dbt_floodmark.spark.home import Workplace, resolve_home
from dbt_floodmark.spark.jars import (
    extra_jars,
    jar_folder,
    missing_jars,
    require_metastore_driver,
)
from dbt_floodmark.spark.java import find_java
from dbt_floodmark.spark.lock import WARM_SERVER, WAY_OUT, is_locked, read_holder
from dbt_floodmark.spark.messages import readable
from dbt_floodmark.spark.server import ask, is_open


@dataclass(frozen=True)
class Finding:
    """One line of the report; ``fix`` is set where there is a problem."""

    subject: str
    found: str
    fix: str = ""

    @property
    def ok(self) -> bool:
        """Whether nothing is to do."""
        return not self.fix


@click.command()
@target_options
def doctor(project_dir: Path, profiles_dir: str | None, target: str | None) -> None:
    """Check Java, jars, versions, profile, metastore, server and ledger; exit code 1 on a problem.

    \b
    Example:
        floodmark doctor -t thrift
    """
    project = require_project(project_dir)
    findings = [check_java(), check_jars(), *check_versions()]
    findings += check_target(project, profiles_dir, target)
    if all(one.ok for one in findings):
        with console(stderr=True).status("Comparing the ledger with the tables"):
            try:
                findings += check_ledger(project, profiles_dir, target)
            except FloodmarkError as exc:
                findings.append(Finding("ledger", "cannot be read", str(exc)))
    columns = [("", "left"), ("", "left"), ("found", "left"), ("what to do", "left")]
    lines = [[_state(one), one.subject, one.found, one.fix] for one in findings]
    console().print(table("", columns, lines))
    sys.exit(0 if all(one.ok for one in findings) else 1)


def _state(finding: Finding) -> Text:
    return Text("ok", style="green") if finding.ok else Text("problem", style="red")


def check_java() -> Finding:
    """Is there a Java that Spark runs on?"""
    try:
        java = find_java()
    except FloodmarkError as exc:
        return Finding("Java", exc.found, exc.remedy)
    return Finding("Java", f"{java.major} ({java.executable})")


def check_jars() -> Finding:
    """Are the Delta jars there?"""
    missing = missing_jars()
    if missing:
        return Finding("Delta jars", f"not in {jar_folder()}", "run `floodmark setup`")
    return Finding("Delta jars", str(jar_folder()))


def check_versions() -> list[Finding]:
    """Are Python and the packages those that floodmark is tested with?"""
    low, high = versions.PYTHON_SUPPORTED
    here = sys.version_info[:2]
    python = ".".join(map(str, here))
    supported = f"{low[0]}.{low[1]} to {high[0]}.{high[1]}"
    findings = [Finding("Python", python, "" if low <= here <= high else f"use Python {supported}")]
    for package, wanted in (
        ("dbt-core", versions.DBT_CORE),
        ("dbt-spark", versions.DBT_SPARK),
        ("pyspark", versions.PYSPARK),
        ("delta-spark", versions.DELTA_SPARK),
    ):
        try:
            found = version(package)
        except PackageNotFoundError:
            found = "not installed"
        fits = found == wanted or found.startswith(f"{wanted}.")
        sign = "~=" if wanted.count(".") == 1 else "=="
        pin = f"{wanted}.0" if sign == "~=" else wanted
        fix = "" if fits else f"pip install '{package}{sign}{pin}'"
        findings.append(Finding(package, found, fix))
    return findings


def check_target(project: Path, profiles_dir: str | None, target: str | None) -> list[Finding]:
    """Is there a profile with this target, and can it be worked with now?"""
    try:
        profile = load_profile(project, profiles_dir, target)
    except Exception as exc:
        said = " ".join(str(exc).split())
        return [Finding("profile", said, "mend profiles.yml or name its folder: --profiles-dir")]
    credentials = profile.credentials
    name = f"{profile.profile_name}, target {profile.target_name}"
    if credentials.type != "spark":
        fix = "use a target of type spark: floodmark acts on no other"
        return [Finding("profile", f"{name}, type {credentials.type}", fix)]
    checks: dict[str, Callable[[], Finding]] = {
        "session": lambda: check_metastore(
            resolve_home(project), credentials.server_side_parameters
        ),
        "thrift": lambda: check_server(credentials),
    }
    method = str(getattr(credentials.method, "value", credentials.method))
    findings = [Finding("profile", f"{name}, method {method}")]
    return [*findings, checks[method]()] if method in checks else findings


def check_ledger(folder: Path, profiles_dir: str | None, target: str | None) -> list[Finding]:
    """Are the tables those that the ledger's last batches left?"""
    project = Project(folder, profiles_dir, target)
    rows = project.query("{{ floodmark._disagreements_sql() }}") if project.models else []
    found = [Finding(row["model"], row["problem"], row["remedy"]) for row in rows]
    count = len(project.models)
    return found or [Finding("ledger", f"fits the tables ({count} models)")]


def check_metastore(home: Path, parameters: Mapping[str, str]) -> Finding:
    """Is the embedded metastore free? One that many processes share always is."""
    workplace = Workplace.session(home)
    conf = spark_conf(workplace, [], parameters)
    if is_shared_metastore(conf):
        place = metastore_name(conf)
        try:
            require_metastore_driver(spark_conf(workplace, extra_jars(), parameters))
        except FloodmarkError as exc:
            return Finding("metastore", place, exc.remedy)
        return Finding("metastore", f"{place}, for many processes at a time")
    if not is_locked(workplace.lock):
        return Finding("metastore", f"free ({workplace.root})")
    holder = read_holder(workplace.lock)
    if holder and holder.pid == os.getpid():
        return Finding("metastore", f"free ({workplace.root})")
    if holder and holder.command == WARM_SERVER:
        return Finding("metastore", f"free: this target works on {WARM_SERVER}")
    who = f"process {holder.pid} ({holder.command})" if holder else "another process"
    return Finding("metastore", f"{workplace.root} is in use by {who}", WAY_OUT)


def check_server(credentials: Any) -> Finding:
    """Does the Thrift server of the target run a statement for the profile's user?"""
    host, port, auth = str(credentials.host), int(credentials.port), credentials.auth
    place = f"{host}:{port}"
    if not is_open(host, port):
        return Finding("Thrift server", f"none answers at {place}", "run `floodmark serve start`")
    if credentials.use_ssl or auth == "KERBEROS":
        how = "SSL" if credentials.use_ssl else f"auth {auth}"
        return Finding("Thrift server", f"something listens at {place} (not asked: {how})")
    try:
        ask(host, port, username=credentials.user, auth=auth, password=credentials.password)
    except Exception as exc:
        # Thrift's responses carry what went wrong in their status.
        status = getattr(exc.args[0], "status", None) if exc.args else None
        said = readable(str(getattr(status, "errorMessage", exc)))
        return Finding(
            "Thrift server",
            f"something listens at {place} and runs no statement: {said}",
            "see that host, port, user, password and auth in profiles.yml are the server's",
        )
    return Finding("Thrift server", f"answers at {place}")
