"""The chain that all of the demo's files are of: its stores, members and days."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta, timezone

FIRST_DAY = date(2026, 1, 1)
ODD_DAY = 4

# The same stores are the seed seeds/stores.csv.
STORE_IDS = tuple(f"STR{1001 + n}" for n in range(12))
CITIES = (
    ("Bengaluru", "Karnataka"),
    ("Chennai", "Tamil Nadu"),
    ("Hyderabad", "Telangana"),
    ("Kolkata", "West Bengal"),
    ("Mumbai", "Maharashtra"),
    ("Pune", "Maharashtra"),
)

#: How many customers have a card.
MEMBERS = 2_000
#: Times of a day, in milliseconds.
MINUTE = 60_000
OPENING = 8 * 60 * MINUTE
LAST_MOMENT = 24 * 60 * MINUTE - 1

#: A record as one line of JSON.
encode = json.JSONEncoder(separators=(",", ":")).encode


def stem_of(day: int) -> str:
    """The day as the names of its files have it."""
    return f"{FIRST_DAY + timedelta(days=day - 1):%Y-%m-%d}"


def midnight_of(day: int) -> int:
    """Epoch milliseconds at which the day begins, UTC."""
    first = datetime(FIRST_DAY.year, FIRST_DAY.month, FIRST_DAY.day, tzinfo=timezone.utc)
    return int(first.timestamp() * 1000) + (day - 1) * 24 * 60 * MINUTE


def card_number(member: int) -> str:
    """The number of a member's card."""
    return f"{4_000_000_000 + member * 7_919:010d}"
