"""What dbt docs says of a model's expectations: they stand in its description, and its columns'."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from dbt.artifacts.schemas.catalog import CatalogArtifact
from dbt.parser.manifest import write_manifest

_IN_RELATION = re.compile(r"floodmark_in_relation\('([0-9a-f]+)'\)")


def list_rules(original: Callable[..., CatalogArtifact]) -> Callable[..., CatalogArtifact]:
    """Have ``dbt docs generate`` list rules; no other command sees these descriptions."""

    def run(self: Any) -> CatalogArtifact:
        before = [
            (one, one.description)
            for node in self.manifest.nodes.values()
            for one in (node, *node.columns.values())
        ]
        try:
            for node in self.manifest.nodes.values():
                describe(node)
            # With --no-compile, dbt keeps the manifest of the command before.
            if self.args.compile:
                write_manifest(self.manifest, self.config.project_target_path)
            return original(self)
        finally:
            for one, description in before:
                one.description = description

    return run


def describe(node: Any) -> None:
    """Add the rules of a node of the manifest to its description, and to those of its columns.

    Descriptions that dbt persists in the table stay as they are: `state:modified` compares them.
    """
    persisted = node.config.get("persist_docs") or {}
    rules = list(_rules(node))
    lines = [
        f"- `{rule['name']}` ({_action(rule)}): {_condition(rule)}{_tags(rule)}" for rule in rules
    ]
    if lines and not persisted.get("relation"):
        node.description = "\n\n".join(filter(None, (node.description, "**Expectations**")))
        node.description += "\n\n" + "\n".join(lines)
    for name, column in () if persisted.get("columns") else node.columns.items():
        of_column = [rule for rule in rules if _names(rule, name)]
        if of_column:
            told = "; ".join(f"{_condition(rule)} ({_action(rule)})" for rule in of_column)
            column.description = f"{column.description} Expected: {told}.".strip()


def _rules(node: Any) -> Iterator[Mapping[str, Any]]:
    """The rules of a model as its settings have them; none of what is no rule, or never checked."""
    if node.config.get("materialized") not in ("incremental", "streaming_table"):
        return
    meta = (node.meta or {}).get("floodmark")
    given = node.config.get("expectations")
    if given is None and isinstance(meta, dict):
        given = meta.get("expectations")
    for rule in given if isinstance(given, list) else ():
        if isinstance(rule, dict) and rule.get("name"):
            yield rule


def _action(rule: Mapping[str, Any]) -> str:
    return str(rule.get("on_violation") or "warn")


def _condition(rule: Mapping[str, Any]) -> str:
    """What a rule asks for, as people read it."""
    if rule.get("expect"):
        where = f" where `{_plain(rule['where'])}`" if rule.get("where") else ""
        return f"`{_plain(rule['expect'])}`{where}"
    if rule.get("unique"):
        return f"{', '.join(f'`{name}`' for name in _listed(rule['unique']))} unique in a batch"
    if rule.get("fresh_within"):
        return f"`{rule.get('column')}` not older than {rule['fresh_within']}"
    limits = rule["rows"] if isinstance(rule.get("rows"), dict) else {}
    return f"rows in a batch: {', '.join(f'{name} {value}' for name, value in limits.items())}"


def _tags(rule: Mapping[str, Any]) -> str:
    return f" (tags: {', '.join(map(str, _listed(rule['tags'])))})" if rule.get("tags") else ""


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _plain(condition: Any) -> str:
    """A condition without the code that stands for ``in_relation`` until the batch is planned."""

    def named(match: re.Match[str]) -> str:
        asked = json.loads(bytes.fromhex(match[1]))
        return f"{asked['column']} in {'.'.join(asked['relation'])}.{asked['its']}"

    return _IN_RELATION.sub(named, str(condition))


def _names(rule: Mapping[str, Any], column: str) -> bool:
    text = " ".join(str(rule.get(key) or "") for key in ("unique", "column"))
    text += f" {_plain(rule.get('expect') or '')} {_plain(rule.get('where') or '')}"
    return re.search(rf"(?<!\w){re.escape(column)}(?!\w)", text, re.IGNORECASE) is not None
