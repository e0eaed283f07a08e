"""The messages of the Python package, found in its syntax trees: what its exceptions say, and its advice."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from pathlib import Path

from tests.support.error_texts import (
    NAMES,
    Message,
    case,
    is_sentence,
    placeholder,
    says_something,
    texts,
)
from tests.support.macros import MACROS

PACKAGE = MACROS.parent / "dbt_floodmark"

#: dbt's errors that floodmark raises too, beside its own classes and those that derive from them.
_OF_DBT = {"DbtRuntimeError", "CompilationError", "FloodmarkError"}
#: Functions that give the sentence of an error, and constants that are one.
_SENTENCES = {
    "readable",
    "_full_disk",
    "_closed_folder",
    "_no_connector",
    "_no_scheme",
    "_of_s3",
    "locked_sentence",
    "unknown_sentence",
}
_CONSTANTS = {"CANCELLED", "NO_HIVE_TABLES", "_IN_THE_LOG", "_STORE_IN_THE_LOG"}
_ADVICE = "_ADVICE"
#: Functions that give an error of dbt's, behind what could not be done; `Project.query` is given one as `why`.
_WRAPPERS = {"failure", "own_sentence", "why"}

#: What Python's matches of patterns find.
_MATCHES = {"gone": "<file>", "colon": "<file>", "stage": "<staging table>"}


@functools.cache
def modules() -> dict[Path, ast.Module]:
    return {file: ast.parse(file.read_text("utf-8")) for file in sorted(PACKAGE.rglob("*.py"))}


@functools.cache
def _constants() -> dict[str, ast.expr]:
    """The texts that modules name, by the name."""
    return {
        target.id: one.value
        for tree in modules().values()
        for one in tree.body
        if isinstance(one, ast.Assign)
        for target in one.targets
        if isinstance(target, ast.Name)
    }


@functools.cache
def error_classes() -> frozenset[str]:
    """floodmark's exceptions, those that derive from them, and dbt's that it raises."""
    found = set(_OF_DBT)
    classes = [
        one
        for tree in modules().values()
        for one in ast.walk(tree)
        if isinstance(one, ast.ClassDef)
    ]
    while True:
        more = {
            one.name
            for one in classes
            if one.name not in found
            and {base.id for base in one.bases if isinstance(base, ast.Name)} & found
        }
        if not more:
            return frozenset(found)
        found |= more


class _Python:
    """The words of expressions within one function."""

    def __init__(self, function: ast.AST) -> None:
        self._busy: set[str] = set()
        self._set: dict[str, list[ast.expr]] = {}
        for one in ast.walk(function):
            if isinstance(one, ast.Assign):
                for target in one.targets:
                    if isinstance(target, ast.Name):
                        self._set.setdefault(target.id, []).append(one.value)

    def words(self, node: ast.AST) -> str:
        match node:
            case ast.Constant(value=str() as value):
                return value
            case ast.Constant():
                return "" if node.value is None else str(node.value)
            case ast.JoinedStr():
                return "".join(map(self.words, node.values))
            case ast.FormattedValue():
                return self.words(node.value)
            case ast.BinOp(right=ast.Constant(value=int())):
                return self.words(node.left)
            case ast.BinOp(op=ast.Add()):
                return self.words(node.left) + self.words(node.right)
            case ast.IfExp():
                return case(self.words(node.body), self.words(node.orelse))
            case ast.BoolOp(op=ast.Or()):
                return self.words(node.values[0])
            case ast.Name():
                return self._named(node.id)
            case ast.Attribute():
                return placeholder(node.attr)
            case ast.Subscript():
                if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                    return placeholder(node.slice.value)
                return self._inner(node.value)
            case ast.Call():
                return self._call(node)
        return "<…>"

    def _inner(self, node: ast.AST) -> str:
        inner = self.words(node)
        return inner if inner.startswith("<") else "<…>"

    def _named(self, name: str) -> str:
        if name in self._busy:
            return ""
        values = self._set.get(name) or ([_constants()[name]] if name in _constants() else [])
        self._busy.add(name)
        try:
            found = list(dict.fromkeys(map(self.words, values)))
        finally:
            self._busy.discard(name)
        told = [text for text in found if says_something(text)]
        if not told:
            is_fixed = values and all(isinstance(value, ast.Constant) for value in values)
            return found[0].removesuffix(".0") if is_fixed else placeholder(name)
        text = functools.reduce(case, told)
        return case(text, "") if "" in found else text

    def _call(self, node: ast.Call) -> str:
        function = node.func
        if isinstance(function, ast.Attribute):
            if function.attr == "join" and node.args:
                return self._inner(node.args[0])
            if function.attr in (
                "strip",
                "rstrip",
                "removeprefix",
                "removesuffix",
                "replace",
                "group",
                "lower",
            ):
                if function.attr == "group" and isinstance(function.value, ast.Name):
                    return _MATCHES.get(function.value.id) or self._inner(function.value)
                return self.words(function.value)
            return placeholder(function.attr)
        if isinstance(function, ast.Name):
            if (
                function.id in ("str", "repr", "quote", "shown", "escape", "sorted", "len")
                and node.args
            ):
                return self._inner(node.args[0])
            if (
                function.id not in NAMES
                and node.args
                and isinstance(node.args[0], (ast.Name, ast.Attribute))
            ):
                return self._inner(node.args[0])
            return placeholder(function.id)
        return "<…>"


def of_module(file: Path, tree: ast.Module) -> Iterator[Message]:
    place = str(file.relative_to(PACKAGE.parent))
    for node, function, owner in _calls(tree):
        scope = _Python(function)
        for text in [one for said in _said(node, scope, owner) for one in texts(said)]:
            sentence = re.sub(r"^floodmark, model '<[^>]*>': ", "", text)
            if is_sentence(sentence):
                yield Message(place, node.lineno, sentence)
    for one in ast.walk(tree):
        if isinstance(one, ast.FunctionDef) and one.name in _SENTENCES:
            scope = _Python(one)
            kind = "warning" if one.name == "unknown_sentence" else "error"
            for back in ast.walk(one):
                if isinstance(back, ast.Return) and back.value is not None:
                    for text in texts(scope.words(back.value)):
                        if is_sentence(text) and not isinstance(back.value, ast.Call):
                            yield Message(place, back.lineno, text, kind)
    for one in tree.body:
        match one:
            case ast.Assign(targets=[ast.Name(id=name)]) if name in _CONSTANTS:
                yield Message(place, one.lineno, _Python(tree).words(one.value).strip(" ()"))
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.Tuple()) if name == _ADVICE:
                for row in one.value.elts:
                    text = _Python(tree).words(row.elts[1])
                    yield Message(place, row.lineno, f"{text} Spark says: <error>")


def _said(node: ast.Call, scope: _Python, owner: str) -> list[str]:
    name = _class_of(node)
    if name in _WRAPPERS:
        return [f"{scope.words(node.args[1])}: <error>"]
    if name == "super":
        return [scope.words(node.args[0])] if node.args and owner in error_classes() else []
    if name == "DamagedError" or not node.args:
        return []
    argument = node.args[0]
    if isinstance(argument, ast.Call) and not isinstance(argument.func, ast.Attribute):
        return []
    if name in error_classes() and len(node.args) > 1:
        return [f"{scope.words(argument)}: {scope.words(node.args[1])}."]
    return [scope.words(argument)]


def _class_of(node: ast.Call) -> str:
    match node.func:
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__"):
            return "super"
        case ast.Attribute(attr=name):
            return name
    return ""


def _calls(tree: ast.Module) -> Iterator[tuple[ast.Call, ast.AST, str]]:
    """Where an exception is made: with the function and the class around it."""
    wanted = error_classes() | _WRAPPERS | {"super"}

    def visit(
        node: ast.AST, function: ast.AST, owner: str
    ) -> Iterator[tuple[ast.Call, ast.AST, str]]:
        for child in ast.iter_child_nodes(node):
            inner = child if isinstance(child, ast.FunctionDef) else function
            within = child.name if isinstance(child, ast.ClassDef) else owner
            if isinstance(child, ast.Call) and _class_of(child) in wanted:
                yield child, function, owner
            yield from visit(child, inner, within)

    return visit(tree, tree, "")
