"""A dbt project as the command sees it: parsed once, its models asked by name, dbt run on it."""

from __future__ import annotations

import contextlib
import functools
import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import click

from dbt_floodmark.errors import FloodmarkError, UsageError
from dbt_floodmark.project.ledger import Row, failure, own_sentence, rows_of
from dbt_floodmark.project.runner import (
    dbt_arguments,
    given_variables,
    is_usage,
    require_project,
    target_options,
    uninterrupted,
)
from dbt_floodmark.texts import jinja_literal, named_text, yaml_text

#: What makes a model floodmark's, and all that may stand in `meta: {floodmark: ...}`: the macros
#: _managing_settings and _own_settings.
_SETTINGS = ("watermark", "files", "expectations", "cdc", "snapshot_diff")
_OWN = (*_SETTINGS, "change_feed", "trigger", "output_mode", "checkpoint_location")
_STRATEGIES = ("cdc", "snapshot_diff")
_QUIET = ("--quiet", "--log-level", "none", "--no-write-json")

Answer = TypeVar("Answer")


@dataclass(frozen=True)
class Model:
    """A model that floodmark loads; a stream reads its sources by a checkpoint of Spark's.

    ``name`` has the version, and the package where another has the same; ``calls`` are all names
    that the model answers to; ``selector`` is what dbt's ``--select`` finds it alone by.
    """

    name: str
    calls: frozenset[str]
    selector: str
    unique_id: str
    model_id: str
    strategy: str
    unique_key: tuple[str, ...]
    watermark: Mapping[str, Any] | None
    files: Mapping[str, Any] | None
    is_stream: bool = False


class Project:
    """A project on one target; dbt runs in this process, on the manifest parsed at the start."""

    def __init__(self, folder: Path, profiles_dir: str | None, target: str | None) -> None:
        """Parse the project.

        Raises:
            UsageError: there is no project in the folder, or no such profile or target.
            FloodmarkError: dbt could not parse it.
        """
        self.folder = require_project(folder)
        self.options = dbt_arguments(self.folder, profiles_dir, target)
        from dbt.cli.main import dbtRunner

        self.variables = given_variables()
        given = _vars_option(self.variables)
        parsed = uninterrupted(dbtRunner().invoke(["parse", *_QUIET, *given, *self.options]))
        if not parsed.success:
            told = failure(parsed, "dbt could not parse the project")
            raise UsageError(str(told)) if is_usage(parsed) else told
        self.manifest = parsed.result
        self.models = _managed_models(self.manifest)

    def invoke(
        self,
        arguments: Sequence[str],
        listeners: Sequence[Callable[[Any], None]] = (),
        **variables: Any,
    ) -> Any:
        """Run dbt and return its ``dbtRunnerResult``; ``listeners`` are given dbt's events.

        ``variables`` are dbt's, beside those that the command was given.

        Raises:
            KeyboardInterrupt: Ctrl-C came while it ran.
        """
        from dbt.cli.main import dbtRunner

        _forget_compiled(self.manifest)
        runner = dbtRunner(manifest=self.manifest, callbacks=list(listeners))
        given = _vars_option({**self.variables, **variables})
        return uninterrupted(runner.invoke([*arguments, *given, *self.options]))

    def one(self, name: str) -> Model:
        """Return the model of this name.

        Raises:
            UsageError: floodmark loads no such model, or several; the sentence names them.
        """
        found = [model for model in self.models.values() if name in model.calls]
        if len(found) == 1:
            return found[0]
        names = ", ".join(sorted(one.name for one in found or self.models.values())) or "none"
        raise UsageError(
            f"floodmark loads several models '{name}': name one of {names}."
            if found
            else f"floodmark loads no model '{name}' in this project: it loads {names}."
        )

    def select(self, selection: Sequence[str]) -> list[Model]:
        """Return the models that dbt's ``--select`` finds; all where it is empty.

        Raises:
            UsageError: the selection holds no model that floodmark loads.
        """
        if not selection:
            return sorted(self.models.values(), key=lambda model: model.name)
        only = ["--resource-type", "model", "--output", "json", "--output-keys", "unique_id"]
        listed = self.invoke(["ls", "--select", *selection, *only, *_QUIET])
        if not listed.success:
            raise failure(listed, "dbt could not select")
        ids = {json.loads(line)["unique_id"] for line in listed.result}
        found = [model for model in self.models.values() if model.unique_id in ids]
        if not found:
            raise UsageError(f"--select {' '.join(selection)} has no model that floodmark loads.")
        return sorted(found, key=lambda model: model.name)

    def query(self, sql: str, why: Callable[[Any, str], FloodmarkError] = failure) -> list[Row]:
        """Return the rows of a query, which may hold Jinja; ``why`` says why it failed.

        Raises:
            NoLedgerError: the ledger's views are not there.
            FloodmarkError: dbt could not run the query.
        """
        # dbt renders it once more while it parses, where no macro can ask Spark.
        sql = "{% if execute %}" + sql + "{% else %}select 1{% endif %}"
        result = self.invoke(["show", "--inline", sql, "--limit", "-1", *_QUIET])
        if not result.success:
            # dbt leaves a query that failed in the manifest, and takes no second one beside it.
            for name in [one for one in self.manifest.nodes if one.startswith("sql_operation.")]:
                del self.manifest.nodes[name]
            raise why(result, "dbt could not read the ledger")
        return rows_of(result)

    def ask(self, macro: str, model: Model, sql: str, *arguments: Any) -> dict[str, Any]:
        """Return what one of floodmark's `_…_sql` macros finds of a model: its row of one JSON.

        The macro is given the model's compiled SQL, its unique id, and ``arguments``.

        Raises:
            FloodmarkError: it stopped, with its sentence.
        """
        given = ", ".join(jinja_literal(one) for one in (model.unique_id, *arguments))
        call = "{{ floodmark." + macro + "(floodmark._select_text(due), " + given + ") }}"
        rows = self.query(named_text("due", sql) + call, own_sentence)
        return dict(json.loads(rows[0]["found"]))

    def operation(self, macro: str, **arguments: Any) -> None:
        """Run a macro of floodmark's; what it prints is shown.

        Raises:
            FloodmarkError: the macro stopped, with its sentence.
        """
        given = yaml_text({key: value for key, value in arguments.items() if value is not None})
        # The result of an operation does not say why it failed; dbt's events do.
        told: list[str] = []

        def listen(event: Any) -> None:
            if event.info.name in ("RunningOperationCaughtError", "RunningOperationUncaughtError"):
                told.append(str(event.data.exc))

        result = self.invoke(
            ["run-operation", f"floodmark.{macro}", "--args", given, *_QUIET],
            [_show_printed, listen],
        )
        if not result.success:
            raise failure(result, f"dbt could not run floodmark.{macro}", " ".join(told))

    def compile(self, models: Sequence[Model], **variables: Any) -> dict[str, str]:
        """Return the compiled SQL of models by unique id, with these dbt variables.

        Raises:
            FloodmarkError: a model could not be compiled.
        """
        chosen = [model.selector for model in models]
        result = self.invoke(["compile", "--select", *chosen, *_QUIET], **variables)
        if not result.success:
            raise failure(result, "dbt could not compile")
        return {one.node.unique_id: one.node.compiled_code or "" for one in result.result.results}


#: What parses the project that a command's options choose.
OpenProject = Callable[[], Project]


def project_options(command: Any) -> Any:
    """Add dbt's options that choose a project, a profile, a target and variables.

    The command is given an `OpenProject` in their place.
    """

    @functools.wraps(command)
    def chosen(
        project_dir: Path, profiles_dir: str | None, target: str | None, **given: Any
    ) -> Any:
        return command(functools.partial(Project, project_dir, profiles_dir, target), **given)

    return target_options(chosen)


def ask_apart(
    models: Sequence[Model], ask: Callable[[Sequence[Model]], Mapping[str, Answer]]
) -> dict[str, Answer | FloodmarkError]:
    """Return the answer for each model by unique id, or why there is none.

    All are asked at once, and one by one where that fails: dbt stops at the first that does.
    """
    if len(models) > 1:
        with contextlib.suppress(FloodmarkError):
            return {**ask(models)}
    found: dict[str, Answer | FloodmarkError] = {}
    for model in models:
        try:
            found |= ask([model])
        except FloodmarkError as exc:
            found[model.unique_id] = exc
    return found


def _forget_compiled(manifest: Any) -> None:
    """Have dbt compile every node anew.

    Where it has put the SQL of ephemeral models in front of a node, it renders the node again and
    does not put them there a second time.
    """
    for node in manifest.nodes.values():
        if node.extra_ctes_injected:
            node.compiled, node.extra_ctes, node.extra_ctes_injected = False, [], False
            node._pre_injected_sql = None


def _managed_models(manifest: Any) -> dict[str, Model]:
    nodes = [node for node in manifest.nodes.values() if _is_managed(node)]
    count = Counter(node.search_name for node in nodes)
    return {node.unique_id: _model(node, count[node.search_name] > 1) for node in nodes}


def _is_managed(node: Any) -> bool:
    if node.resource_type != "model":
        return False
    if node.config.materialized == "incremental":
        given = any(value is not None for value in _settings(node.config).values())
        # What cannot be read is refused by the next run, and not passed over.
        in_meta = _in_meta(node.config)
        is_odd = not isinstance(in_meta, Mapping | None) or not set(in_meta or ()) <= set(_OWN)
        return given or is_odd or node.config.incremental_strategy in _STRATEGIES
    return bool(node.config.materialized == "streaming_table")


def _model(node: Any, has_namesake: bool) -> Model:
    names = {node.name, node.search_name}
    # What is no mapping is refused by the next run, with the right form.
    settings = {
        name: value if isinstance(value, Mapping) else None
        for name, value in _settings(node.config).items()
    }
    key = node.config.unique_key or ()
    return Model(
        name=f"{node.package_name}.{node.search_name}" if has_namesake else node.search_name,
        calls=frozenset(names | {f"{node.package_name}.{name}" for name in names}),
        selector=f"package:{node.package_name},file:{Path(node.original_file_path).name}",
        unique_id=node.unique_id,
        model_id=f"{node.schema}.{node.alias}",
        strategy=node.config.incremental_strategy or "append",
        unique_key=(key,) if isinstance(key, str) else tuple(key),
        watermark=settings["watermark"],
        files=settings["files"],
        is_stream=node.config.materialized == "streaming_table",
    )


def _in_meta(config: Any) -> Any:
    return (config.get("meta") or {}).get("floodmark")


def _settings(config: Any) -> dict[str, Any]:
    in_meta = _in_meta(config)
    # What is no mapping is refused by the next run.
    in_meta = in_meta if isinstance(in_meta, Mapping) else {}
    return {
        name: config.get(name) if config.get(name) is not None else in_meta.get(name)
        for name in _SETTINGS
    }


def _vars_option(variables: Mapping[str, Any]) -> list[str]:
    return ["--vars", yaml_text(variables)] if variables else []


def _show_printed(event: Any) -> None:
    if event.info.name == "PrintEvent":
        click.echo(event.data.msg)
    elif event.info.name == "JinjaLogWarning":
        click.echo(event.data.msg, err=True)
