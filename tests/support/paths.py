"""Folders and files whose names read like patterns."""

from __future__ import annotations

from pathlib import Path

#: A folder that reads like a pattern.
FOLDER = "shop [old] {1} 100% #2, a*b"
#: One row a file. Names that Hadoop takes for patterns, that URIs write in another way, and one with a colon.
NAMES = [
    "plain",
    "sp ace",
    "qu'ote\"d",
    "per%cent",
    "%5B",
    "ha#sh",
    "pl+us",
    "eq=ual",
    "br[ack]et",
    "cur{l}y",
    "only]",
    "only}",
    "com,ma",
    "back\\slash",
    "ünï",
    "qu?est",
    "st*ar",
    "2024-05-01T08:00:00",
    "a:b/c:d",
    "dir [x]/{y}",
    "semi;co",
    "am&p",
    "ti`ck",
    "do$llar",
    "ca^ret",
    "~til",
    "@at",
    "😀",
]


def land(folder: Path, names: list[str], first: int = 0) -> None:
    """Write a file of one row for each name, with ids from `first` on."""
    for number, name in enumerate(names, first):
        file = folder / f"{name}.json"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f'{{"id": {number}}}\n')
