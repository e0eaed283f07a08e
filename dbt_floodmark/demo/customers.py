"""What happens to customers on a day: inserts, updates and deletes, some late or sent twice."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import NamedTuple

from dbt_floodmark.demo.chain import (
    CITIES,
    LAST_MOMENT,
    MEMBERS,
    ODD_DAY,
    OPENING,
    card_number,
    encode,
    midnight_of,
)

CHANGE_FIELDS = (
    "CustomerCardNo",
    "FullName",
    "HomeCity",
    "HomeState",
    "LoyaltyTier",
    "operation",
    "sequence_num",
)
TIERS = ("BASIC", "SILVER", "GOLD")
FIRST_NAMES = ("Aarav", "Diya", "Ishaan", "Kavya", "Meera", "Rohan", "Sana", "Vikram")
LAST_NAMES = ("Bose", "D'Souza", "Iyer", "Khan", "Nair", "Patel", "Rao", "Singh")
CHANGES_PER_DAY = 120
_NO_TIER = "PLATNUM"


class _Change(NamedTuple):
    """A customer's change, and how it lands: with the next day's files, and how often."""

    line: str
    late: bool
    copies: int


def landed_changes(day: int, seed: int) -> list[str]:
    """The changes in the day's files: its own, and late ones of the day before."""
    landed = [change for change in _changes(day, seed) if not change.late]
    if day > 1:
        landed += [change for change in _changes(day - 1, seed) if change.late]
    lines = [change.line for change in landed for _ in range(change.copies)]
    Random(f"{seed}/{day}/customers/order").shuffle(lines)
    return lines


def _changes(day: int, seed: int) -> Iterator[_Change]:
    """What happens to customers on a day; ``sequence_num`` is its time in microseconds."""
    random = Random(f"{seed}/{day}/customers")
    midnight = midnight_of(day)
    if day == 1:
        for member in range(MEMBERS):
            line = _change_json(random, member, "INSERT", (midnight + member) * 1000)
            yield _Change(line, late=False, copies=1)
    for position in range(CHANGES_PER_DAY):
        member = int(random.random() * MEMBERS)
        time = midnight + OPENING + int(random.random() * (LAST_MOMENT - OPENING))
        operation = "DELETE" if random.random() < 0.2 else "UPDATE"
        late, copies = random.random() < 0.15, 2 if random.random() < 0.05 else 1
        line = _change_json(random, member, operation, time * 1000 + position)
        yield _Change(line, late, copies)
    if day == ODD_DAY:
        noon = (midnight + LAST_MOMENT // 2) * 1000
        line = _change_json(random, 0, "UPDATE", noon, tier=_NO_TIER)
        yield _Change(line, late=False, copies=1)


def _change_json(
    random: Random, member: int, operation: str, sequence: int, tier: str | None = None
) -> str:
    city, state = CITIES[int(random.random() * len(CITIES))]
    name = f"{FIRST_NAMES[member % 8]} {LAST_NAMES[member // 8 % 8]}"
    tier = tier or TIERS[int(random.random() * len(TIERS))]
    known = (None,) * 4 if operation == "DELETE" else (name, city, state, tier)
    fields = (card_number(member), *known, operation, sequence)
    return encode(dict(zip(CHANGE_FIELDS, fields, strict=True)))
