"""The messages of the macros, found in the trees of their Jinja: what stops, warns, or is recorded in the ledger."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import nodes

from tests.support.error_texts import (
    NAMES,
    Message,
    case,
    inline,
    is_sentence,
    placeholder,
    says_something,
    texts,
)
from tests.support.macros import MACROS, load, parsed_macros

#: Macros that stop or warn -> the arguments that are read to the user, joined by ". ".
STOPS: Mapping[str, tuple[int, ...]] = {
    "_stop": (0,),
    "_stop_for_now": (0,),
    "_refuse_snapshot": (1, 2),
    "_diff_stop": (0,),
    "_raise": (0,),
    "_warn": (0,),
    "_warn_once": (1,),
}
#: Macros that record why a batch is rejected -> the argument that says so.
_REASONS: Mapping[str, int] = {"_reject_columns": 1, "_fail": 1}
#: The macros that pass on what another one says.
_FRAMES = {
    "_refuse", "_stop", "_stop_for_now", "_refuse_snapshot", "_diff_stop", "_raise", "_warn", "_warn_once",
    "_tell_warnings",
}  # fmt: skip
#: Schemas whose settings are a model's own.
_UNPREFIXED = {"_model_schema", "_merge_schema", "_stream_schema"}
#: The schemas of what stands within another setting, by the name that their macro gives them.
_WITHIN = {
    "snapshot.": "snapshot_diff.",
    "row_rule.": "expectations.<name>.",
    "batch_rule.": "expectations.<name>.",
    "rows_rule.": "expectations.<name>.rows.",
}
#: Macros that are told the setting that they check, as `label`.
_LABELS = {
    "_row_rule_problems": "expectations.<name>",
    "_batch_rule_problems": "expectations.<name>",
}
#: Macros that give pairs of a problem and its remedy, which `floodmark doctor` shows.
_DISAGREEMENTS = {"_disagreement"}
#: The macros whose text is being read, so that none is read within itself.
_RETURNING: list[str] = []


@dataclass(frozen=True)
class Macro:
    file: Path
    tree: nodes.Macro

    @property
    def parameters(self) -> list[str]:
        return [argument.name for argument in self.tree.args]


@functools.cache
def macros() -> dict[str, Macro]:
    return {name: Macro(file, tree) for name, (file, tree) in parsed_macros().items()}


def _called(node: Any) -> str | None:
    """The macro of the package that a node calls."""
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
        owner = node.node.node
        if isinstance(owner, nodes.Name) and owner.name == "floodmark":
            return node.node.attr
    return None


class _Jinja:
    """The words of expressions within one macro."""

    def __init__(self, macro: nodes.Macro, given: Mapping[str, str] | None = None) -> None:
        self._given = dict(given or {})
        self._before: dict[str, str] = {}
        self._set: dict[str, list[Any]] = {}
        self._loops: dict[str, list[str]] = {}
        for one in macro.find_all(nodes.Assign):
            self._assign(one.target, one.node)
        for call in macro.find_all(nodes.Call):
            if isinstance(call.node, nodes.Getattr) and call.node.attr == "append":
                self._assign(call.node.node, call.args[0])
        unknown = set()
        for loop in macro.find_all(nodes.For):
            target = loop.target.items[0] if isinstance(loop.target, nodes.Tuple) else loop.target
            items = _items(loop.iter)
            self._loops.setdefault(target.name, []).extend(items)
            unknown |= set() if items else {target.name}
        for name in unknown:
            del self._loops[name]

    def _assign(self, target: Any, value: Any) -> None:
        if isinstance(target, nodes.Tuple) and isinstance(value, nodes.Tuple):
            for one, other in zip(target.items, value.items, strict=True):
                self._assign(one, other)
        elif isinstance(target, nodes.Name):
            self._set.setdefault(target.name, []).append(value)

    def words(self, node: Any) -> str:
        """What an expression says."""
        match node:
            case nodes.Const():
                return "" if node.value is None else str(node.value)
            case nodes.Concat():
                return self._joined(node)
            case nodes.Add():
                return self.words(node.left) + self.words(node.right)
            case nodes.CondExpr():
                return self._either(node)
            case nodes.Or():
                return self._or(node)
            case nodes.Name():
                return self._named(node.name)
            case nodes.Getattr():
                return placeholder(node.attr)
            case nodes.Getitem():
                return self._item(node)
            case nodes.Filter():
                return self._filtered(node)
            case nodes.Call():
                return self._call(node)
        return "<…>"

    def _joined(self, node: nodes.Concat) -> str:
        parts = [self.words(part) for part in node.nodes]
        looped = [at for at, part in enumerate(node.nodes) if self._alternatives(part)]
        if len(looped) == 1 and not any(" " in part for part in parts[: looped[0]]):
            # The names of several settings: each in full.
            before, after = "".join(parts[: looped[0]]), "".join(parts[looped[0] + 1 :])
            if " " not in after:
                each = self._alternatives(node.nodes[looped[0]])
                return " / ".join(before + one + after for one in each)
        return "".join(parts)

    def _alternatives(self, node: Any) -> list[str]:
        """The texts that the variable of a loop has, or a part of each."""
        if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Slice):
            start = node.arg.start.value if isinstance(node.arg.start, nodes.Const) else 0
            return [text[start:] for text in self._alternatives(node.node)]
        if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
            listed = self._set.get(node.node.name, []) if isinstance(node.node, nodes.Name) else []
            return [
                text
                for one in listed
                for text in (
                    [one.value] if isinstance(one, nodes.Const) else self._alternatives(one)
                )
            ]
        return self._loops.get(node.name, []) if isinstance(node, nodes.Name) else []

    def _either(self, node: nodes.CondExpr) -> str:
        kept, other = self.words(node.expr1), self.words(node.expr2) if node.expr2 else ""
        if isinstance(node.expr2, nodes.Const) and node.expr2.value is None:
            return kept
        if _is_of_one(node.test):
            return other
        return case(kept, other)

    def _or(self, node: nodes.Or) -> str:
        left, right = self.words(node.left), self.words(node.right)
        if not says_something(right) or right == "none":
            return left
        return case(left, right) if says_something(left) else right

    def _named(self, name: str) -> str:
        if name in self._given:
            return self._given[name]
        if name in self._loops:
            return " / ".join(self._loops[name])
        if name in self._before:
            return self._before[name]
        # A text that is lengthened names itself: as it was before.
        self._before[name] = ""
        found: list[str] = []
        for value in self._set.get(name, []):
            if isinstance(value, nodes.Const) and value.value is None:
                continue
            found.append(self.words(value))
            self._before[name] = found[0]
        del self._before[name]
        found = list(dict.fromkeys(found))
        told = [text for text in found if says_something(text)]
        if not told:
            return placeholder(name)
        text = functools.reduce(case, told)
        return case(text, "") if "" in found else text

    def _item(self, node: nodes.Getitem) -> str:
        each = self._alternatives(node)
        if each:
            return " / ".join(each)
        if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
            return placeholder(node.arg.value)
        choices = _values_of(_called(node.node))
        if choices:
            return " / ".join(choices)
        inner = self.words(node.node)
        return inner if inner.startswith("<") else "<…>"

    def _filtered(self, node: nodes.Filter) -> str:
        if node.name == "map":
            named = [one.value for one in node.kwargs if one.key == "attribute"]
            return placeholder(named[0].value + "s") if named else self.words(node.node)
        return self.words(node.node)

    def _call(self, node: nodes.Call) -> str:
        name = _called(node)
        if name == "_counted":
            noun = self.words(node.args[1])
            return f"{self.words(node.args[0]) if not isinstance(node.args[0], nodes.Filter) else '<n>'} {noun}s"
        if name is not None and name in macros():
            macro = macros()[name]
            given = dict(zip(macro.parameters, map(self.words, node.args), strict=False))
            given |= {one.key: self.words(one.value) for one in node.kwargs}
            returned = _returned(macro.tree, given)
            if returned:
                return returned
            first = self.words(node.args[0]) if node.args and name not in NAMES else ""
            return first if first.startswith("<") else placeholder(name)
        if isinstance(node.node, nodes.Getattr):
            owner, method = node.node.node, node.node.attr
            asked: list[str] = []
            if method == "format":
                arguments = [self.words(one) for one in node.args]
                return _formatted(self.words(owner), arguments)
            if method == "get" and node.args and isinstance(node.args[0], nodes.Const):
                return placeholder(str(node.args[0].value))
            for macro in map(macros().__getitem__, _given().get(method, ())):
                asked.append(_returned(macro.tree, {}))
            if any(asked):
                return functools.reduce(case, filter(None, asked))
            if method in ("ledger_schema", "floodmark_method"):
                return placeholder(method.removeprefix("floodmark_"))
            if method == "sub":
                return self.words(node.args[2])
        if isinstance(node.node, nodes.Name) and node.node.name == "tojson":
            return self.words(node.args[0])
        return "<…>"


def _items(node: Any) -> list[str]:
    """The texts that a loop goes through: those of a list, or the keys of a mapping."""
    if isinstance(node, nodes.Call) and isinstance(node.node, nodes.Getattr):
        node = node.node.node
    found = [pair.key for pair in node.items] if isinstance(node, nodes.Dict) else []
    found = node.items if isinstance(node, nodes.List) else found
    texts = [one.value for one in found if isinstance(one, nodes.Const)]
    return texts if all(isinstance(text, str) for text in texts) else []


def _values_of(name: str | None) -> list[str]:
    """The texts of the mapping that a macro returns, each once."""
    if name not in macros():
        return []
    tables = macros()[name].tree.find_all(nodes.Dict)
    values = [
        one.value
        for table in tables
        for pair in table.items
        for one in [pair.value]
        if isinstance(one, nodes.Const)
    ]
    return list(dict.fromkeys(value for value in values if isinstance(value, str)))


@functools.cache
def _given() -> dict[str, list[str]]:
    """The macros that calls give under a name, as a strategy's mapping does, by the name."""
    found: dict[str, list[str]] = {}
    for macro in macros().values():
        for call in macro.tree.find_all(nodes.Call):
            for one in call.kwargs:
                if isinstance(one.value, nodes.Getattr) and one.value.attr in macros():
                    found.setdefault(one.key, []).append(one.value.attr)
    return found


def _is_of_one(test: Any) -> bool:
    """Whether a condition asks for exactly one: the plural is shown."""
    return (
        isinstance(test, nodes.Compare)
        and test.ops[0].op == "eq"
        and isinstance(test.ops[0].expr, nodes.Const)
        and test.ops[0].expr.value == 1
    )


def _formatted(template: str, arguments: list[str]) -> str:
    rest = iter(arguments)
    return re.sub(r"\{[^}]*\}", lambda _: next(rest, "<…>"), template)


def _returned(macro: nodes.Macro, given: Mapping[str, str]) -> str:
    """The text that a macro returns, if it returns one with words."""
    if macro.name in _RETURNING:
        return ""
    scope = _Jinja(macro, given)
    _RETURNING.append(macro.name)
    try:
        found = [
            scope.words(call.args[0])
            for call in macro.find_all(nodes.Call)
            if isinstance(call.node, nodes.Name) and call.node.name == "return" and call.args
            if isinstance(call.args[0], (nodes.Concat, nodes.CondExpr, nodes.Const, nodes.Add))
        ]
    finally:
        _RETURNING.pop()
    told = [text for text in dict.fromkeys(found) if says_something(text) and " " in text]
    return functools.reduce(case, told, told[0]) if told else ""


def _pairs(node: nodes.Dict) -> dict[str, Any]:
    return {pair.key.value: pair.value for pair in node.items if isinstance(pair.key, nodes.Const)}


def _schemas(macro: nodes.Macro) -> dict[int, str]:
    """The settings that a schema's rows are of, by the row's identity: `watermark.column`."""
    prefix = (
        ""
        if macro.name in _UNPREFIXED
        else macro.name.removeprefix("_").removesuffix("_schema") + "."
    )
    prefix = _WITHIN.get(prefix, prefix)
    return {
        id(pair.value): prefix + str(pair.key.value)
        for table in macro.find_all(nodes.Dict)
        for pair in table.items
        if isinstance(pair.value, nodes.Dict) and isinstance(pair.key, nodes.Const)
    }


@functools.cache
def _types() -> dict[str, dict[str, str]]:
    """What is said of each type of setting that has no words of its own."""
    return {str(kind): words for kind, words in load()._schema_types().items()}


def of_macro(macro: Macro) -> Iterator[Message]:
    file = str(macro.file.relative_to(MACROS.parent))
    scope = _Jinja(macro.tree)
    rows = _schemas(macro.tree)
    for table in macro.tree.find_all(nodes.Dict):
        pairs = _pairs(table)
        if "expected" not in pairs or not pairs.keys() & {"todo", "meaning"}:
            continue
        kind = _types().get(scope.words(pairs["type"]), {}) if "type" in pairs else {}
        said = {key: inline(scope.words(value)) for key, value in pairs.items()}
        setting = said.get("setting") or rows[id(table)]
        setting = setting.replace("<label>", _LABELS.get(macro.tree.name, "<label>"))
        if says_something(said["expected"]):
            yield Message(
                file,
                table.lineno,
                said["expected"],
                setting="<setting>" if macro.tree.name == "_schema_types" else setting,
                got=said.get("got"),
                todo=said.get("todo", kind.get("todo")),
            )
    yield from _in_sql(file, macro.tree, scope)
    if macro.tree.name in _FRAMES:
        return
    for call in macro.tree.find_all(nodes.Call):
        name = _called(call)
        if name in STOPS:
            text = ". ".join(scope.words(call.args[place]) for place in STOPS[name])
            text += ": run again" if name == "_stop_for_now" else ""
            for one in texts(text):
                yield Message(
                    file, call.lineno, one, "warning" if name.startswith("_warn") else "error"
                )
        reasons = (
            [one.value for one in call.kwargs if one.key == "rejects"] if name in _FRAMES else []
        )
        if name in _REASONS:
            reasons = call.args[_REASONS[name] :][:1]
        for reason in map(scope.words, reasons):
            for one in filter(is_sentence, texts(reason)):
                yield Message(file, call.lineno, one, "reason")


def _in_sql(file: str, macro: nodes.Macro, scope: _Jinja) -> Iterator[Message]:
    """What SQL says: what it raises, the reasons that it writes into the ledger, what `doctor` selects."""
    for text in macro.find_all(nodes.Concat):
        if any(
            isinstance(part, nodes.Const) and "raise_error(" in str(part.value)
            for part in text.nodes
        ):
            said = [
                scope.words(part.args[0])
                for part in text.nodes
                if _called(part) == "_string_literal"
            ]
            yield Message(file, text.lineno, "<value>".join(said))
    for table in macro.find_all(nodes.Dict):
        reason = _pairs(table).get("error")
        reason = reason.args[0] if _called(reason) == "_string_literal" else reason
        for one in texts(scope.words(reason)) if reason is not None else []:
            if is_sentence(one):
                yield Message(file, table.lineno, one.strip("'").removesuffix("' / null"), "reason")
    if macro.name in _DISAGREEMENTS:
        for pair in macro.find_all(nodes.List):
            if len(pair.items) == 2 and says_something(scope.words(pair.items[0])):
                for one in texts("; ".join(map(scope.words, pair.items))):
                    yield Message(file, pair.lineno, one)
