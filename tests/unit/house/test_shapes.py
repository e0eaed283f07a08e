"""Macros use no key of a run, a batch, a source or a state that no shape declares (macros/protocol/_shapes.sql)."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace

import pytest
from jinja2 import nodes

from tests.support.macros import MACROS, load, parsed

#: What a variable holds, by its name.
SHAPES = {
    "run": "_run_shape",
    "batch": "_batch_shape",
    "source": "_source_shape",
    "state": "_state_shape",
}
#: A plan becomes a batch once it is recorded; in a diff the word means something else.
OTHER_PLANS = "operations"
METHODS = {"get", "update", "items", "keys", "values"}


@pytest.fixture(scope="module")
def floodmark() -> SimpleNamespace:
    return load()


def used(tree: nodes.Node, variable: str) -> set[str]:
    """The keys of a variable that are read or set: `x.key`, `x['key']`, `x.get('key')`, `x.update({'key': ...})`."""
    found = set()
    for node in tree.find_all((nodes.Getattr, nodes.Getitem)):
        if isinstance(node.node, nodes.Name) and node.node.name == variable:
            if isinstance(node, nodes.Getattr) and node.attr not in METHODS:
                found.add(node.attr)
            elif isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
                found.add(str(node.arg.value))
    for call in tree.find_all(nodes.Call):
        method = call.node
        if not (isinstance(method, nodes.Getattr) and isinstance(method.node, nodes.Name)):
            continue
        if method.node.name != variable or not call.args:
            continue
        first = call.args[0]
        if method.attr == "get" and isinstance(first, nodes.Const):
            found.add(str(first.value))
        elif method.attr == "update" and isinstance(first, nodes.Dict):
            found |= {str(p.key.value) for p in first.items if isinstance(p.key, nodes.Const)}
    return found


def test_no_macro_uses_a_key_that_no_shape_declares(floodmark: SimpleNamespace) -> None:
    wrong = defaultdict(set)
    for file in sorted(MACROS.rglob("*.sql")):
        tree = parsed(file.read_text())
        for variable, shape in (SHAPES | {"plan": "_batch_shape"}).items():
            if variable == "plan" and file.parent.name == OTHER_PLANS:
                continue
            unknown = used(tree, variable) - getattr(floodmark, shape)().keys()
            if unknown:
                wrong[str(file.relative_to(MACROS))].add((variable, *sorted(unknown)))
    assert not wrong


def test_every_declared_key_is_used(floodmark: SimpleNamespace) -> None:
    trees = [parsed(file.read_text()) for file in MACROS.rglob("*.sql")]
    for variable, shape in SHAPES.items():
        names = (variable, "plan") if variable == "batch" else (variable,)
        seen = set().union(*(used(tree, name) for tree in trees for name in names))
        keys = getattr(floodmark, shape)().keys()
        made = {
            str(pair.key.value)
            for tree in trees
            for pair in tree.find_all(nodes.Pair)
            if isinstance(pair.key, nodes.Const)
        }
        assert keys - seen - made == set(), shape


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("{{ batch.low }}{{ batch['high'] }}", {"low", "high"}),
        ("{{ batch.get('cap', 1) }}", {"cap"}),
        ("{%- do batch.update({'kind': 1, 'a': 2}) -%}", {"kind", "a"}),
        ("{%- do batch.update(dict(x, y=1)) -%}{{ other.low }}", set()),
        ("{{ 'batch.low' }}{# batch.high #}", set()),
    ],
)
def test_what_counts_as_used(text: str, keys: set[str]) -> None:
    assert used(parsed(text), "batch") == keys
