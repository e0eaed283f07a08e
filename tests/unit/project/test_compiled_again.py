"""One manifest is compiled several times: each time dbt puts the SQL of ephemeral models in front. Without Spark."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from dbt.artifacts.resources.types import NodeType
from dbt.artifacts.resources.v1.components import InjectedCTE
from dbt.compilation import Compiler

from dbt_floodmark.project.project import Project


def node(name: str, ephemeral: bool = False) -> Any:
    return SimpleNamespace(
        unique_id=f"model.shop.{name}",
        name=name,
        identifier=name,
        resource_type=NodeType.Model,
        is_ephemeral_model=ephemeral,
        compiled=False,
        compiled_code=None,
        extra_ctes=[],
        extra_ctes_injected=False,
        _pre_injected_sql=None,
    )


def compiled_by(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """dbt's own putting together; what a node's Jinja gives is written here."""
    compiler = Compiler(SimpleNamespace(args=SimpleNamespace()))

    def render(node: Any, manifest: Any, context: Any) -> Any:
        node.compiled = True
        if node.is_ephemeral_model:
            node.compiled_code = "select 1 as id"
        else:
            node.compiled_code = "select * from __dbt__cte__below"
            if not node.extra_ctes:
                node.extra_ctes.append(InjectedCTE(id="model.shop.below", sql=""))
        return node

    monkeypatch.setattr(compiler, "_compile_code", render)
    monkeypatch.setattr(compiler, "add_ephemeral_prefix", lambda name: f"__dbt__cte__{name}")
    return lambda node, manifest: compiler.compile_node(node, manifest, write=False)


def test_a_second_compile_has_the_ephemeral_models_too(monkeypatch: pytest.MonkeyPatch) -> None:
    above, below = node("above"), node("below", ephemeral=True)
    manifest = SimpleNamespace(nodes={one.unique_id: one for one in (above, below)})
    compile_node = compiled_by(monkeypatch)
    monkeypatch.setattr(Compiler, "_write_node", lambda *_, **__: None)

    class Runner:
        def __init__(self, **_: object) -> None: ...

        def invoke(self, arguments: list[str]) -> object:
            compile_node(above, manifest)
            return SimpleNamespace(exception=None)

    monkeypatch.setattr("dbt.cli.main.dbtRunner", Runner)
    project = Project.__new__(Project)
    project.manifest, project.options, project.variables = manifest, [], {}
    for _ in range(2):
        project.invoke(["compile"])
        assert "with __dbt__cte__below as (" in above.compiled_code
        assert "select 1 as id" in above.compiled_code
