"""dbt inside this process, and what every command needs to know about a project."""

from __future__ import annotations

import os
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import yaml
from dbt.cli.option_types import YAML
from dbt.cli.options import MultiOption
from dbt.cli.resolvers import default_profiles_dir, default_project_dir

from dbt_floodmark.errors import UsageError

EXIT_OK, EXIT_FAILED, EXIT_USAGE = 0, 1, 2

#: Where a command's context keeps the variables of ``--vars``.
_VARIABLES = "floodmark.vars"


def project_option(command: Any) -> Any:
    """Add ``--project-dir`` to a command."""
    return click.option(
        "--project-dir",
        type=click.Path(file_okay=False, path_type=Path),
        default=default_project_dir,
        envvar=_variables("PROJECT_DIR"),
        help="The dbt project (default: here, or the next one above).",
    )(command)


def profiles_option(command: Any) -> Any:
    """Add ``--profiles-dir`` to a command."""
    return click.option(
        "--profiles-dir",
        type=click.Path(),
        envvar=_variables("PROFILES_DIR"),
        help="Where profiles.yml is.",
    )(command)


def target_options(command: Any) -> Any:
    """Add dbt's options that choose a profile, a target and variables."""
    target = click.option(
        "-t",
        "--target",
        envvar=_variables("TARGET"),
        help="The profile's target, for instance thrift.",
    )
    variables = click.option(
        "--vars",
        type=YAML(),
        expose_value=False,
        callback=_keep_variables,
        help="Variables of the project as YAML, as in dbt's --vars.",
    )
    return project_option(profiles_option(target(variables(command))))


def _keep_variables(context: click.Context, option: click.Parameter, given: Any) -> None:
    context.meta[_VARIABLES] = given or {}


def given_variables() -> dict[str, Any]:
    """Return the variables that the command at hand was given with ``--vars``."""
    context = click.get_current_context(silent=True)
    return dict(context.meta.get(_VARIABLES, {})) if context else {}


def select_option(command: Any) -> Any:
    """Add dbt's ``--select``: the models that a command looks at."""
    return click.option(
        "-s",
        "--select",
        cls=MultiOption,
        type=tuple,
        multiple=True,
        metavar="SELECTOR",
        help="Models, as in dbt's --select: one or several.",
    )(command)


def json_option(command: Any) -> Any:
    """Add ``--json``."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")(
        command
    )


def require_project(project_dir: Path) -> Path:
    """Return the project's absolute path, or refuse a folder that is none."""
    if not (project_dir / "dbt_project.yml").is_file():
        raise UsageError(
            f"There is no dbt_project.yml in {project_dir.resolve()}: go to a project, "
            "name one with --project-dir, or make one with `floodmark init DIR`."
        )
    return project_dir.resolve()


def project_settings(project_dir: Path) -> dict[str, Any]:
    """Return what the project's ``dbt_project.yml`` says; nothing where it cannot be read."""
    try:
        found = yaml.safe_load((project_dir / "dbt_project.yml").read_text("utf-8"))
    except (OSError, UnicodeDecodeError, yaml.YAMLError):
        return {}
    return found if isinstance(found, dict) else {}


def project_folder(arguments: Sequence[str]) -> Path:
    """Return the folder of the project that dbt works on with these arguments."""
    named = _value(arguments, "--project-dir") or _in_environment("PROJECT_DIR")
    return Path(named) if named else Path(default_project_dir())


def default_profiles(arguments: Sequence[str]) -> list[str]:
    """Return ``--profiles-dir`` for a project that keeps its profiles in ``profiles/``.

    Empty when the user has said where they are, in an option or the environment.
    """
    if _value(arguments, "--profiles-dir") or _in_environment("PROFILES_DIR"):
        return []
    folder = project_folder(arguments) / "profiles"
    return ["--profiles-dir", str(folder)] if (folder / "profiles.yml").is_file() else []


def dbt_arguments(project_dir: Path, profiles_dir: str | None, target: str | None) -> list[str]:
    """Return the options that make dbt work on this project and target."""
    arguments = ["--project-dir", str(project_dir)]
    if profiles_dir:
        arguments += ["--profiles-dir", profiles_dir]
    arguments += [*default_profiles(arguments), *colour_options(arguments)]
    return [*arguments, "--target", target] if target else arguments


def colour_options(arguments: Sequence[str]) -> list[str]:
    """Return what has dbt honour NO_COLOR, which it does not know.

    Empty when the user has told dbt itself about colours.
    """
    told = {"--use-colors", "--no-use-colors"} & set(arguments) or _in_environment("USE_COLORS")
    return ["--no-use-colors"] if os.environ.get("NO_COLOR") and not told else []


def invoke(arguments: Sequence[str]) -> Any:
    """Run dbt with these arguments and return its ``dbtRunnerResult``."""
    from dbt.cli.main import dbtRunner

    return dbtRunner().invoke(list(arguments))


def uninterrupted(result: Any) -> Any:
    """Return what dbt returned.

    Raises:
        KeyboardInterrupt: Ctrl-C came while it ran, which dbt returns as any other failure.
    """
    if isinstance(result.exception, KeyboardInterrupt):
        raise result.exception
    return result


def exit_code(result: Any) -> int:
    """Return what dbt itself would exit with: 0, 1 (something failed) or 2 (did not run)."""
    if result.success:
        return EXIT_OK
    return EXIT_USAGE if result.exception is not None else EXIT_FAILED


def is_usage(result: Any) -> bool:
    """Tell whether dbt could not use what it was given.

    That is an argument, the profile, the target, or the project's settings.
    """
    from dbt.cli.exceptions import DbtUsageException
    from dbt.exceptions import DbtProfileError, DbtProjectError

    # A profile that profiles.yml does not have is an error of the project to dbt.
    return isinstance(result.exception, (DbtUsageException, DbtProfileError, DbtProjectError))


def usage_sentence(result: Any) -> str | None:
    """Return what is wrong with the arguments; dbt prints every other error itself."""
    from dbt.cli.exceptions import DbtUsageException

    if isinstance(result.exception, DbtUsageException):
        return " ".join(str(result.exception).split())
    return None


def load_profile(project: Path, profiles_dir: str | None, target: str | None) -> Any:
    """Return dbt's profile of a project and target, without parsing the project.

    Raises:
        Exception: dbt's own, where there is none or it cannot be read.
    """
    from dbt.config import runtime
    from dbt.flags import set_from_args
    from dbt_common.context import set_invocation_context

    arguments = ["--project-dir", str(project)]
    if profiles_dir:
        arguments += ["--profiles-dir", profiles_dir]
    chosen = [*arguments, *default_profiles(arguments)]
    named = chosen[chosen.index("--profiles-dir") + 1] if "--profiles-dir" in chosen else None
    folder = named or _in_environment("PROFILES_DIR") or default_profiles_dir()
    set_invocation_context(os.environ)
    set_from_args(
        Namespace(profiles_dir=str(folder), project_dir=str(project), vars=given_variables()), {}
    )
    name = _in_environment("PROFILE")
    return runtime.load_profile(str(project), given_variables(), name, target_override=target)


def load_parameters(project_dir: Path, profiles_dir: str | None, target: str) -> dict[str, str]:
    """Return the ``server_side_parameters`` of a target.

    Raises:
        UsageError: there is no project, profile or target of that name.
    """
    project = require_project(project_dir)
    try:
        profile = load_profile(project, profiles_dir, target)
    except Exception as exc:
        raise UsageError(" ".join(str(exc).split())) from exc
    return dict(getattr(profile.credentials, "server_side_parameters", None) or {})


def _variables(option: str) -> list[str]:
    """Return the variables by which dbt takes an option, the preferred one first."""
    return [f"DBT_ENGINE_{option}", f"DBT_{option}"]


def _in_environment(option: str) -> str | None:
    found = (os.environ.get(name) for name in _variables(option))
    return next((value for value in found if value), None)


def _value(arguments: Sequence[str], option: str) -> str | None:
    for index, argument in enumerate(arguments):
        if argument == option and index + 1 < len(arguments):
            return arguments[index + 1]
        if argument.startswith(f"{option}="):
            return argument.partition("=")[2]
    return None
