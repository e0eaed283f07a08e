"""Every message that floodmark stops or warns with, read from the code: `messages()`.

Texts are found in the trees of the macros (Jinja) and of the package (Python), never by searching text. What a
run fills in stands as a name in `<>`; words that one case alone has in `[]`, those of several cases as `a / b`.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import nodes

from tests.support.macros import MACROS, load, parsed

PACKAGE = MACROS.parent / "dbt_floodmark"

#: Macros that stop or warn -> the arguments that are read to the user, joined by ". ".
STOPS: Mapping[str, tuple[int, ...]] = {
    "_stop": (0,),
    "_stop_for_now": (0,),
    "_refuse_snapshot": (1, 2),
    "_diff_stop": (0,),
    "_raise": (0,),
    "_warn": (0,),
}
#: Macros that record why a batch is rejected -> the argument that says so.
_REASONS: Mapping[str, int] = {"_reject_columns": 1, "_fail": 1}
#: The macros that pass on what another one says.
_FRAMES = {"_refuse", "_stop", "_stop_for_now", "_refuse_snapshot", "_diff_stop", "_raise", "_warn"}
#: dbt's errors that floodmark raises too, beside its own classes and those that derive from them.
_OF_DBT = {"DbtRuntimeError", "CompilationError", "FloodmarkError"}
#: Functions that give the sentence of an error, and constants that are one.
_SENTENCES = {"readable", "_full_disk", "locked_sentence", "unknown_sentence"}
_CONSTANTS = {"CANCELLED", "NO_HIVE_TABLES", "_IN_THE_LOG"}
_ADVICE = "_ADVICE"
#: Functions that give an error of dbt's, behind what could not be done.
_WRAPPERS = {"failure", "own_sentence"}

#: What Python's matches of patterns find.
_MATCHES = {"gone": "<file>", "colon": "<file>", "stage": "<staging table>"}
#: Better names of what a run fills in.
_NAMES = {
    "this": "table",
    "batch_id": "batch",
    "node_name": "model",
    "relation": "table",
    "arg": "…",
    "exc": "error",
    "msg": "error",
    "target_table": "table",
    "_shown_keys": "keys",
    "_restates_from": "from",
    "last_batch_id": "batch",
    "parts": "table",
    "schema": "keys",
    "known": "keys",
    "argument_kinds": "type",
    "excludes": "other",
}


@dataclass(frozen=True)
class Message:
    """A message, and where it stands.

    `kind` is `error`, `warning` or `reason` (of a batch that is rejected). The text of a problem of a setting is what
    was expected; `got` is what it says of the value, and `todo` what to do.
    """

    file: str
    line: int
    text: str
    kind: str = "error"
    setting: str | None = None
    got: str | None = None
    todo: str | None = None


def _placeholder(name: str) -> str:
    name = _NAMES.get(name, name).strip("_").lower()
    return f"<{name.replace('_', ' ')}>"


def _case(one: str, other: str) -> str:
    """What two cases say, with marks around them until the whole text is known (_texts)."""
    if one == other:
        return one
    if not one or not other:
        text = one or other
        return text.replace(text.strip(), f"[{text.strip()}]")
    return f"\1{one}\2{other}\3"


_CASES = re.compile("\1([^\1-\3]*)\2([^\1-\3]*)\3")
#: Cases of more words than these make a text each.
_SHORT = 4


def _inline(text: str) -> str:
    """A text with its cases as `a / b`."""
    while _CASES.search(text):
        text = _CASES.sub(r"\1 / \2", text)
    return " ".join(text.split())


def _texts(text: str) -> list[str]:
    """A text for each of its cases that are long, with the short ones as `a / b`."""
    case = _CASES.search(text)
    if case is None:
        return [" ".join(text.split())]
    before, after = text[: case.start()], text[case.end() :]
    if max(len(words.split()) for words in case.groups()) <= _SHORT:
        return _texts(f"{before}{case[1]} / {case[2]}{after}")
    return [whole for words in case.groups() for whole in _texts(before + words + after)]


def _says_something(text: str) -> bool:
    """Whether a text has words beside what is filled in."""
    return bool(re.search(r"[A-Za-z]{2}", re.sub(r"<[^>]*>", "", text)))


def _is_sentence(text: str) -> bool:
    """Whether a text has several words of its own."""
    return len(re.findall(r"[A-Za-z]{2,}", re.sub(r"<[^>]*>|\[[^]]*\]", "", text))) > 1


# --- macros ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Macro:
    file: Path
    tree: nodes.Macro

    @property
    def parameters(self) -> list[str]:
        return [argument.name for argument in self.tree.args]


@functools.cache
def _macros() -> dict[str, Macro]:
    return {
        macro.name: Macro(file, macro)
        for file in sorted(MACROS.rglob("*.sql"))
        for macro in parsed(file.read_text("utf-8")).find_all(nodes.Macro)
    }


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
                return _placeholder(node.attr)
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
        return _case(kept, other)

    def _or(self, node: nodes.Or) -> str:
        left, right = self.words(node.left), self.words(node.right)
        if not _says_something(right) or right == "none":
            return left
        return _case(left, right) if _says_something(left) else right

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
        told = [text for text in found if _says_something(text)]
        if not told:
            return _placeholder(name)
        text = functools.reduce(_case, told)
        return _case(text, "") if "" in found else text

    def _item(self, node: nodes.Getitem) -> str:
        each = self._alternatives(node)
        if each:
            return " / ".join(each)
        if isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, str):
            return _placeholder(node.arg.value)
        choices = _values_of(_called(node.node))
        if choices:
            return " / ".join(choices)
        inner = self.words(node.node)
        return inner if inner.startswith("<") else "<…>"

    def _filtered(self, node: nodes.Filter) -> str:
        if node.name == "map":
            named = [one.value for one in node.kwargs if one.key == "attribute"]
            return _placeholder(named[0].value + "s") if named else self.words(node.node)
        return self.words(node.node)

    def _call(self, node: nodes.Call) -> str:
        name = _called(node)
        if name == "_counted":
            noun = self.words(node.args[1])
            return f"{self.words(node.args[0]) if not isinstance(node.args[0], nodes.Filter) else '<n>'} {noun}s"
        if name is not None and name in _macros():
            macro = _macros()[name]
            given = dict(zip(macro.parameters, map(self.words, node.args), strict=False))
            given |= {one.key: self.words(one.value) for one in node.kwargs}
            returned = _returned(macro.tree, given)
            if returned:
                return returned
            first = self.words(node.args[0]) if node.args and name not in _NAMES else ""
            return first if first.startswith("<") else _placeholder(name)
        if isinstance(node.node, nodes.Getattr):
            owner, method = node.node.node, node.node.attr
            texts: list[str] = []
            if method == "format":
                arguments = [self.words(one) for one in node.args]
                return _formatted(self.words(owner), arguments)
            if method == "get" and node.args and isinstance(node.args[0], nodes.Const):
                return _placeholder(str(node.args[0].value))
            for macro in map(_macros().get, _given_as(method)):
                texts.append(_returned(macro.tree, {}))
            if any(texts):
                return functools.reduce(_case, filter(None, texts))
            if method in ("ledger_schema", "floodmark_method"):
                return _placeholder(method.removeprefix("floodmark_"))
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
    if name not in _macros():
        return []
    tables = _macros()[name].tree.find_all(nodes.Dict)
    values = [
        one.value
        for table in tables
        for pair in table.items
        for one in [pair.value]
        if isinstance(one, nodes.Const)
    ]
    return list(dict.fromkeys(value for value in values if isinstance(value, str)))


@functools.cache
def _given_as(keyword: str) -> list[str]:
    """The macros that calls give under a name, as a strategy's mapping does."""
    return [
        one.value.attr
        for macro in _macros().values()
        for call in macro.tree.find_all(nodes.Call)
        for one in call.kwargs
        if one.key == keyword
        and isinstance(one.value, nodes.Getattr)
        and one.value.attr in _macros()
    ]


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
        texts = [
            scope.words(call.args[0])
            for call in macro.find_all(nodes.Call)
            if isinstance(call.node, nodes.Name) and call.node.name == "return" and call.args
            if isinstance(call.args[0], (nodes.Concat, nodes.CondExpr, nodes.Const, nodes.Add))
        ]
    finally:
        _RETURNING.pop()
    told = [text for text in dict.fromkeys(texts) if _says_something(text) and " " in text]
    return functools.reduce(_case, told, told[0]) if told else ""


_RETURNING: list[str] = []


def _pairs(node: nodes.Dict) -> dict[str, Any]:
    return {pair.key.value: pair.value for pair in node.items if isinstance(pair.key, nodes.Const)}


def _schemas(macro: nodes.Macro) -> dict[int, str]:
    """The settings that a schema's rows are of, by the row's identity: `watermark.column`."""
    prefix = (
        ""
        if macro.name in _UNPREFIXED
        else macro.name.removeprefix("_").removesuffix("_schema") + "."
    )
    prefix = {"snapshot.": "snapshot_diff."}.get(prefix, prefix)
    return {
        id(pair.value): prefix + str(pair.key.value)
        for table in macro.find_all(nodes.Dict)
        for pair in table.items
        if isinstance(pair.value, nodes.Dict) and isinstance(pair.key, nodes.Const)
    }


def _types() -> dict[str, dict[str, str]]:
    """What is said of each type of setting that has no words of its own."""
    return {str(kind): words for kind, words in load()._schema_types().items()}


#: Schemas whose settings are a model's own.
_UNPREFIXED = {"_model_schema", "_merge_schema", "_stream_schema"}


def of_macro(macro: Macro) -> Iterator[Message]:
    file = str(macro.file.relative_to(MACROS.parent))
    scope = _Jinja(macro.tree)
    rows = _schemas(macro.tree)
    for table in macro.tree.find_all(nodes.Dict):
        pairs = _pairs(table)
        if "expected" not in pairs or not pairs.keys() & {"todo", "meaning"}:
            continue
        kind = _types().get(scope.words(pairs["type"]), {}) if "type" in pairs else {}
        said = {key: _inline(scope.words(value)) for key, value in pairs.items()}
        setting = said.get("setting") or rows[id(table)]
        if _says_something(said["expected"]):
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
            for one in _texts(text):
                yield Message(file, call.lineno, one, "warning" if name == "_warn" else "error")
        reasons = (
            [one.value for one in call.kwargs if one.key == "rejects"] if name in _FRAMES else []
        )
        if name in _REASONS:
            reasons = call.args[_REASONS[name] :][:1]
        for reason in map(scope.words, reasons):
            for one in filter(_is_sentence, _texts(reason)):
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
        for one in _texts(scope.words(reason)) if reason is not None else []:
            if _is_sentence(one):
                yield Message(file, table.lineno, one.strip("'").removesuffix("' / null"), "reason")
    if macro.name in _DISAGREEMENTS:
        for pair in macro.find_all(nodes.List):
            if len(pair.items) == 2 and _says_something(scope.words(pair.items[0])):
                for one in _texts("; ".join(map(scope.words, pair.items))):
                    yield Message(file, pair.lineno, one)


#: Macros that give pairs of a problem and its remedy, which `floodmark doctor` shows.
_DISAGREEMENTS = {"_disagreement"}


# --- Python ------------------------------------------------------------------------------------


@functools.cache
def _modules() -> dict[Path, ast.Module]:
    return {file: ast.parse(file.read_text("utf-8")) for file in sorted(PACKAGE.rglob("*.py"))}


@functools.cache
def _constants() -> dict[str, ast.expr]:
    """The texts that modules name, by the name."""
    return {
        target.id: one.value
        for tree in _modules().values()
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
        for tree in _modules().values()
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
                return _case(self.words(node.body), self.words(node.orelse))
            case ast.BoolOp(op=ast.Or()):
                return self.words(node.values[0])
            case ast.Name():
                return self._named(node.id)
            case ast.Attribute():
                return _placeholder(node.attr)
            case ast.Subscript():
                if isinstance(node.slice, ast.Constant) and isinstance(node.slice.value, str):
                    return _placeholder(node.slice.value)
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
        told = [text for text in found if _says_something(text)]
        if not told:
            is_fixed = values and all(isinstance(value, ast.Constant) for value in values)
            return found[0].removesuffix(".0") if is_fixed else _placeholder(name)
        text = functools.reduce(_case, told)
        return _case(text, "") if "" in found else text

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
            return _placeholder(function.attr)
        if isinstance(function, ast.Name):
            if (
                function.id in ("str", "repr", "quote", "shown", "escape", "sorted", "len")
                and node.args
            ):
                return self._inner(node.args[0])
            if (
                function.id not in _NAMES
                and node.args
                and isinstance(node.args[0], (ast.Name, ast.Attribute))
            ):
                return self._inner(node.args[0])
            return _placeholder(function.id)
        return "<…>"


def of_module(file: Path, tree: ast.Module) -> Iterator[Message]:
    place = str(file.relative_to(PACKAGE.parent))
    for node, function, owner in _calls(tree):
        scope = _Python(function)
        for text in [one for said in _said(node, scope, owner) for one in _texts(said)]:
            sentence = re.sub(r"^floodmark, model '<[^>]*>': ", "", text)
            if _is_sentence(sentence):
                yield Message(place, node.lineno, sentence)
    for one in ast.walk(tree):
        if isinstance(one, ast.FunctionDef) and one.name in _SENTENCES:
            scope = _Python(one)
            kind = "warning" if one.name == "unknown_sentence" else "error"
            for back in ast.walk(one):
                if isinstance(back, ast.Return) and back.value is not None:
                    for text in _texts(scope.words(back.value)):
                        if _is_sentence(text) and not isinstance(back.value, ast.Call):
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


@functools.cache
def messages() -> tuple[Message, ...]:
    """All of them, in the order of files and lines; what several places say word by word, once."""
    found: Iterable[Message] = [
        *(one for macro in _macros().values() for one in of_macro(macro)),
        *(one for file, tree in _modules().items() for one in of_module(file, tree)),
    ]
    return tuple(sorted(found, key=lambda one: (one.file, one.line)))
