"""The worked example's input: a retail chain's point-of-sale files, made from a seed.

Each day lands its own files, and what a day's files hold depends on ``(day, invoices, seed)``
alone: days can be landed in any number and amount without one changing another. Rows are written
as they are made, so that a million invoices need no more memory than ten.

A day's invoices come in three number series:

- ``0``: the day's sales, numbered in the order of their time.
- ``8``: a few sales shortly before midnight. The next day's files bring each of them again, some
  as they were (duplicated) and some changed (corrected).
- ``9``: sales of the day before, made on a till that was offline around midnight (late).

Customers are inserted on the first day and changed, deleted and inserted again on every day. Some
changes of a day land with the next day's files, so events of a customer come out of order, and some
are sent twice. The product catalogue lands in full every day (`demo_products`), and beside all that
what the streams read (`demo_streams`).

Everything that arrives a day late was created after 22:15, so a watermark with a lookback of two
hours finds it. A correction keeps the invoice's day, store, customer and line items; only
quantities and amounts change, and CreatedTime is later.

From day 4 on (`ODD_DAY`), sales to members carry ``LoyaltyPoints``, which no file had before. The
files of that one day are odd in other ways too:

- A till lost power while it sent an invoice: its line is cut off. The line behind it has it whole.
- One invoice has a text as its NumberOfItems, and one a number below zero.
- One customer gets a tier that does not exist, and one product of the catalogue costs nothing.
- The late sales come in a file whose modification time is that of their night: it is older than
  files of the days before.
- The file of the night before is overwritten: each of its sales is there again, corrected.
"""

from __future__ import annotations

import operator
from pathlib import Path
from random import Random

from dbt_floodmark.demo.chain import ODD_DAY, encode, midnight_of, stem_of
from dbt_floodmark.demo.customers import landed_changes
from dbt_floodmark.demo.drop import Drop
from dbt_floodmark.demo.events import EVENTS_PER_DAY, MISSING_EVENTS_PER_DAY, numbered_events
from dbt_floodmark.demo.invoices import (
    NIGHT,
    NIGHT_SALES,
    Invoice,
    correct,
    invoice_json,
    late_sales,
    night_sales,
    sales,
)
from dbt_floodmark.demo.products import catalogue_csv
from dbt_floodmark.demo.streams import DEVICE_FIELDS, device_events, kiosk_csv

MINIMUM_INVOICES = 10

_RESENT_AS_THEY_WERE = 2
# Of the odd day's sales, by their place: one whose NumberOfItems is a text, one that is cut off; of
# its late sales one whose NumberOfItems is below zero.
_MISFIT, _CUT_OFF, _NEGATIVE = 3, 4, 0
_INVOICES_PER_FILE = 100_000


def land_day(landing: Path, day: int, invoices: int = 500, seed: int = 7) -> dict[str, int]:
    """Write one day's files under ``landing``, each of them whole or not at all.

    The files are JSON lines, ``invoices/*.json``, ``pos_events/*.json``,
    ``customer_changes/*.json`` and ``device_events/*.json``, and CSV with a header,
    ``products/*.csv`` and ``kiosk_invoices/*.csv``. Landing the same day again with the same
    arguments leaves its files untouched.

    Args:
        landing: The landing folder; it is created where it does not exist.
        day: 1 for 2026-01-01, 2 for the day after, and so on.
        invoices: How many invoice numbers the day's files bring for the first time.
        seed: Another seed makes another chain's days.

    Returns:
        ``invoices`` (new invoice numbers), ``late`` (those of them created on the day before),
        ``duplicated`` and ``corrected`` (lines that bring a known number again), ``lines`` (all
        invoice lines written), ``events``, ``missing_events`` (numbers left out), ``changes``
        (lines of customer changes), ``products`` (in the catalogue), ``device_events`` and
        ``kiosk_invoices`` (lines of them) and ``files``. Lines that are cut off are in no count.

    Raises:
        ValueError: If ``day`` is below 1 or ``invoices`` below 10.
    """
    if day < 1:
        raise ValueError(f"day must be 1 or more, got {day}")
    if invoices < MINIMUM_INVOICES:
        raise ValueError(f"invoices must be {MINIMUM_INVOICES} or more, got {invoices}")

    stem = stem_of(day)
    with Drop(landing / "invoices") as drop:
        counts, printed = _land_invoices(drop, stem, day, invoices, seed)
    changes = landed_changes(day, seed)
    devices = [
        encode(dict(zip(DEVICE_FIELDS, one, strict=True))) for one in device_events(day, seed)
    ]
    products = list(catalogue_csv(day, seed, has_free=day == ODD_DAY))
    kiosks = list(kiosk_csv(day, seed))
    files = drop.files
    for name, lines in (
        ("pos_events/*.json", numbered_events(day, seed, printed)),
        ("customer_changes/*.json", changes),
        ("products/*.csv", products),
        ("device_events/*.json", devices),
        ("kiosk_invoices/*.csv", kiosks),
    ):
        folder, _, suffix = name.partition("/*")
        with Drop(landing / folder) as drop:
            for line in lines:
                drop.write(f"{folder}-{stem}{suffix}", line)
        files += drop.files
    return counts | {
        "events": EVENTS_PER_DAY,
        "missing_events": MISSING_EVENTS_PER_DAY,
        "changes": len(changes),
        "products": len(products) - 1,
        "device_events": len(devices),
        "kiosk_invoices": len(kiosks) - 1,
        "files": files,
    }


def _land_invoices(
    drop: Drop, stem: str, day: int, invoices: int, seed: int
) -> tuple[dict[str, int], list[Invoice]]:
    """Write the day's invoices; return the counts and a sample of at most 200 invoices."""
    late = max(1, invoices // 50) if day > 1 else 0
    is_odd = day == ODD_DAY
    regular = invoices - late - NIGHT_SALES
    per_file = min(_INVOICES_PER_FILE, -(-regular // 2))
    every = -(-regular // 200)
    resent = f"invoices-{stem}-resent.json"
    duplicated = corrected = 0
    sample: list[Invoice] = []
    fate = Random(f"{seed}/{day}/fate")

    for position, invoice in enumerate(sales(day, regular, seed)):
        part = f"invoices-{stem}-part-{position // per_file:04d}.json"
        line = invoice_json(invoice, "{} pcs".format if is_odd and position == _MISFIT else None)
        if is_odd and position == _CUT_OFF:
            drop.write(part, line[: len(line) // 2])
        drop.write(part, line)
        if position % every == 0:
            sample.append(invoice)
        # The first three meet each fate once, so that the smallest day has them all.
        draw = (0.0, 0.015, 0.025)[position] if position < 3 else fate.random()
        if draw < 0.01:
            drop.write(part, line)
            duplicated += 1
        elif draw < 0.02:
            drop.write(resent, line)
            duplicated += 1
        elif draw < 0.035 and invoice.created < midnight_of(day) + NIGHT:
            drop.write(resent, invoice_json(correct(invoice, fate)))
            corrected += 1

    for invoice in night_sales(day, seed):
        drop.write(f"invoices-{stem}-night.json", invoice_json(invoice))

    if day > 1:
        for position, invoice in enumerate(late_sales(day, late, seed)):
            line = invoice_json(invoice, operator.neg if is_odd and position == _NEGATIVE else None)
            drop.write(f"invoices-{stem}-late.json", line)
        if is_odd:
            drop.date(f"invoices-{stem}-late.json", midnight_of(day) // 1000)
            again = Random(f"{seed}/{day}/overwritten")
            yesterday = f"invoices-{stem_of(day - 1)}-night.json"
            for invoice in night_sales(day - 1, seed):
                drop.write(yesterday, invoice_json(correct(invoice, again)))
                corrected += 1
        for position, invoice in enumerate(night_sales(day - 1, seed)):
            if position < _RESENT_AS_THEY_WERE:
                drop.write(resent, invoice_json(invoice))
                duplicated += 1
            else:
                drop.write(resent, invoice_json(correct(invoice, fate)))
                corrected += 1

    counts = {
        "invoices": invoices,
        "late": late,
        "duplicated": duplicated,
        "corrected": corrected,
        "lines": invoices + duplicated + corrected,
    }
    return counts, sample
