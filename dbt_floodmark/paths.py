"""Paths of files, and what Hadoop takes for patterns in them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

#: What makes a path a pattern for Hadoop; a backslash takes the meaning from the next character.
_SPECIAL = re.compile(r"[\\*?\[\]{}]")
_SCHEME = re.compile(r"[a-zA-Z][\w+.-]*:")
_LOCAL = re.compile(r"file:(?://)?(?=/)")

#: Spark's options of one read of local files. Hadoop's usual client of them looks for a checksum
#: beside each, by a name that it cannot form where there is a colon in it. Kept clients are of the
#: usual kind, so none is taken.
LOCAL_FILES = {
    "fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "fs.file.impl.disable.cache": "true",
}


def is_local(path: str) -> bool:
    """Tell whether a path can be one of this machine's: without a scheme, or of `file:`."""
    return _LOCAL.match(path) is not None or _SCHEME.match(path) is None


def is_pattern(path: str) -> bool:
    """Tell whether Hadoop takes a path for a pattern."""
    return _SPECIAL.search(path) is not None


def is_glob(pattern: str) -> bool:
    """Tell whether a pattern names more than one path: a literal one has its characters escaped."""
    return is_pattern(re.sub(r"\\.", "", pattern))


def glob_folder(pattern: str) -> str:
    """Return the folder, as a plain path, in which a pattern begins to name more than one."""
    plain = re.match(r"(?:\\.|[^\\*?\[\]{}])*", pattern, re.DOTALL)
    folder = (plain[0] if plain else "").rpartition("/")[0]
    return re.sub(r"\\(.)", r"\1", folder, flags=re.DOTALL) or "/"


def glob_regex(pattern: str) -> str:
    """Return a pattern of Hadoop's for paths as a regular expression."""
    parts: list[str] = []
    depth = 0
    for token in re.findall(r"\\.|\[[^\]]+\]|.", pattern, re.DOTALL):
        if token in ("*", "?"):
            parts.append("[^/]*" if token == "*" else "[^/]")
        elif token == "{":
            depth += 1
            parts.append("(?:")
        elif token == "}" and depth:
            depth -= 1
            parts.append(")")
        elif token == "," and depth:
            parts.append("|")
        elif len(token) > 2:
            letters = re.sub(r"([\\\[&])", r"\\\1", token[1:-1])
            parts.append(f"[^{letters[1:]}]" if letters[0] == "!" else f"[{letters}]")
        else:
            parts.append(re.escape(token[1:] or token))
    return "".join(parts) + ")" * depth


def path_pattern(path: str) -> str:
    r"""Return a whole path as a pattern, in which what exists under that very name means itself.

    `/shop [old]/landing/*` is `/shop \[old\]/landing/*` where there is a folder `/shop [old]`.
    """
    local = _LOCAL.match(path)
    start = local.end() if local else 0
    if not is_local(path) or not is_pattern(path):
        return path
    end = len(path)
    while end > start and not os.path.lexists(path[start:end]):
        end = path.rfind("/", start, end)
    end = max(end, start)
    return path[:start] + _SPECIAL.sub(r"\\\g<0>", path[start:end]) + path[end:]


def literal_folders(pattern: str) -> Iterator[tuple[str, str]]:
    """Yield each folder that a pattern begins with, and the pattern in which it means itself."""
    for end in re.finditer(r"/|$", pattern):
        folder = re.sub(r"\\(.)", r"\1", pattern[: end.start()])
        yield folder, _SPECIAL.sub(r"\\\g<0>", folder) + pattern[end.start() :]
