"""Files that nobody would write on purpose: cut off, binary, deep, huge, in wrong encodings, with odd names."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable, Iterator

KEYS = [
    "id",
    "a",
    "ä",
    "od d",
    "b.c",
    "ID",
    'q"uote',
    "back`tick",
    "",
    "$x",
    "x,y",
    "_metadata",
    "😀",
]
LINE_ENDS = ["\n", "\n", "\n", "\r\n", "\r"]
_LINE = re.compile(rb"\r\n|\r|\n")


def value(rng: random.Random, depth: int = 0) -> object:
    """Any value that JSON knows, and numbers that no machine keeps."""
    kind = rng.randrange(11 if depth < 4 else 8)
    if kind == 0:
        return None
    if kind == 1:
        return rng.choice([True, False])
    if kind == 2:
        return rng.choice([0, -1, 7, 2**31, 2**63, -(2**64), 10**30, 10**60])
    if kind == 3:
        return rng.choice([1.5, -0.0, 1e300, 1e-300, 12345678.123456789])
    if kind in (4, 5):
        return rng.choice(
            ["", "x", "ü", "a\nb", 'q"', "\\", "null", "1.50", "\u0000", "😀" * 3, "[{", " "]
        )
    if kind in (6, 7):
        return rng.randrange(100)
    if kind == 8:
        return [value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {rng.choice(KEYS): value(rng, depth + 1) for _ in range(rng.randrange(5))}


def record(rng: random.Random) -> dict[str, object]:
    """A JSON object."""
    return {rng.choice(KEYS): value(rng) for _ in range(rng.randrange(1, 6))} | {
        "id": rng.randrange(1000)
    }


def json_line(rng: random.Random) -> bytes:
    """A line that is a JSON object, or looks like one."""
    text = json.dumps(record(rng), ensure_ascii=rng.random() < 0.5)
    whole = text.encode("utf-8", "surrogatepass")
    spoilers: list[Callable[[], bytes]] = [
        lambda: whole[: rng.randrange(1, len(whole))],
        lambda: whole + rng.choice([b"}", b",", b" x", whole, b"[]", b"\x00"]),
        lambda: whole.replace(b'"', b"'"),
        lambda: text.encode("utf-16"),
        lambda: whole[:5] + bytes(rng.randrange(128, 256) for _ in range(3)) + whole[5:],
        lambda: bytes(rng.randrange(256) for _ in range(rng.randrange(1, 40))),
        lambda: b"[" + whole + b"]",
        lambda: rng.choice(
            [b"null", b"1", b'"x"', b"true", b"[]", b"[1,2]", b"NaN", b"-", b"{", b"{}"]
        ),
        lambda: b'{"deep":' * 1200 + b"1" + b"}" * 1200,
        lambda: b'{"id":1,"id":2}',
        lambda: b'{"long":"' + b"x" * rng.choice([1000, 200_000]) + b'"}',
        lambda: rng.choice([b"", b"  ", b"\t"]),
        lambda: b"  " + whole + b"  ",
        lambda: b'{"n":01}',
        lambda: b'{"n":1e999,"m":' + b"9" * 400 + b"}",
    ]
    return rng.choice(spoilers)() if rng.random() < 0.4 else whole


def json_file(rng: random.Random) -> bytes:
    """A file of such lines."""
    end = rng.choice(LINE_ENDS).encode()
    content = end.join(json_line(rng) for _ in range(rng.randrange(8)))
    content += end if rng.random() < 0.7 else b""
    return (b"\xef\xbb\xbf" if rng.random() < 0.1 else b"") + content


def csv_file(rng: random.Random) -> bytes:
    """A header, and lines of which most go with it."""
    header = rng.sample(["id", "name", "when", "ä", "od d", "b.c", "Id"], rng.randrange(1, 5))
    fields = [
        '""',
        "1",
        "x y",
        '"a,b"',
        '"a ""b"" c"',
        "2024-01-01",
        "",
        '"',
        'x"y',
        "\\",
        "é",
        "'q'",
        '"open',
    ]
    end = rng.choice(LINE_ENDS)
    rows = [",".join(header if rng.random() < 0.95 else [*header, header[0]])]
    for _ in range(rng.randrange(6)):
        count = len(header) + (rng.choice([-1, 1, 2]) if rng.random() < 0.15 else 0)
        weights = [4] * 7 + [1] * 6
        rows.append(",".join(rng.choices(fields, weights, k=max(count, 0))))
    content = (end.join(rows) + (end if rng.random() < 0.7 else "")).encode()
    if rng.random() < 0.05:
        content = bytes(rng.randrange(1, 256) for _ in range(rng.randrange(60)))
    return content


def files(
    rng: random.Random, make: Callable[[random.Random], bytes], ending: str, count: int
) -> Iterator[tuple[str, bytes]]:
    """Files under odd names, some of them packed."""
    odd = ["a b", "ü", "100%", "x#y", "p+q", "[z]", "{c}", "q'", "c,d", "e=f"]
    for number in range(count):
        content = make(rng)
        packed = rng.random() < 0.1
        name = f"{number}{rng.choice(odd) if rng.random() < 0.3 else ''}.{ending}{'.gz' if packed else ''}"
        yield name, gzip.compress(content) if packed else content


def lines_of(name: str, content: bytes) -> list[bytes]:
    """The lines of a file that are not blank, without a byte-order mark."""
    content = gzip.decompress(content) if name.endswith(".gz") else content
    found = [line.removeprefix(b"\xef\xbb\xbf") for line in _LINE.split(content)]
    return [line for line in found if line.strip(b" \t")]


def is_object(line: bytes) -> bool:
    """Whether a line is one JSON object by Python's own reading, strictly."""

    def refuse(text: str) -> object:
        raise ValueError(text)

    try:
        return isinstance(json.loads(line.decode("utf-8"), parse_constant=refuse), dict)
    except (ValueError, RecursionError):
        return False
