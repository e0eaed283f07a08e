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

import filecmp
import json
import operator
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta, timezone
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

from dbt_floodmark.demo.products import ITEMS, catalogue_csv
from dbt_floodmark.demo.streams import DEVICE_FIELDS, device_events, kiosk_csv

FIRST_DAY = date(2026, 1, 1)
MINIMUM_INVOICES = 10
EVENTS_PER_DAY = 400
MISSING_EVENTS_PER_DAY = 10
ODD_DAY = 4

INVOICE_FIELDS = (
    "InvoiceNumber",
    "CreatedTime",
    "StoreID",
    "PosID",
    "CashierID",
    "CustomerType",
    "CustomerCardNo",
    "TotalAmount",
    "NumberOfItems",
    "PaymentMethod",
    "TaxableAmount",
    "CGST",
    "SGST",
    "CESS",
    "DeliveryType",
    "DeliveryAddress",
    "InvoiceLineItems",
)
EVENT_FIELDS = (
    "EventSeq",
    "StoreID",
    "PosID",
    "EventType",
    "EventTime",
    "InvoiceNumber",
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
PAYMENT_METHODS = ("CARD", "CASH", "UPI")
TIERS = ("BASIC", "SILVER", "GOLD")
FIRST_NAMES = ("Aarav", "Diya", "Ishaan", "Kavya", "Meera", "Rohan", "Sana", "Vikram")
LAST_NAMES = ("Bose", "D'Souza", "Iyer", "Khan", "Nair", "Patel", "Rao", "Singh")
CHANGES_PER_DAY = 120

_MINUTE = 60_000
_OPENING = 8 * 60 * _MINUTE
_NIGHT = (22 * 60 + 15) * _MINUTE
_LAST_MOMENT = 24 * 60 * _MINUTE - 1
_MEMBERS = 2_000
_NIGHT_SALES = 4
_RESENT_AS_THEY_WERE = 2
# Of the odd day's sales, by their place: one whose NumberOfItems is a text, one that is cut off; of
# its late sales one whose NumberOfItems is below zero.
_MISFIT, _CUT_OFF, _NEGATIVE = 3, 4, 0
_NO_TIER = "PLATNUM"
# In paise.
_AMOUNT_A_POINT = 10_000
_INVOICES_PER_FILE = 100_000


class _Line(NamedTuple):
    """One item of an invoice; the price in paise."""

    code: str
    description: str
    price: int
    quantity: int


class _Address(NamedTuple):
    """Where an invoice's goods are delivered."""

    line: str
    city: str
    contact: str
    pin: str
    state: str


@dataclass(frozen=True, slots=True)
class _Invoice:
    """One invoice before it is written; ``created`` in epoch milliseconds."""

    number: str
    created: int
    store: str
    pos: str
    cashier: str
    customer_type: str
    card: str | None
    payment: str
    delivery: str
    address: _Address | None
    lines: tuple[_Line, ...]


class _Event(NamedTuple):
    """One point-of-sale event before it is numbered; ``time`` in epoch milliseconds."""

    time: int
    store: str
    pos: str
    kind: str
    invoice: str | None


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

    stem = _stem(day)
    with _Drop(landing / "invoices") as drop:
        counts, printed = _land_invoices(drop, stem, day, invoices, seed)
    changes = _landed_changes(day, seed)
    devices = [
        _encode(dict(zip(DEVICE_FIELDS, one, strict=True))) for one in device_events(day, seed)
    ]
    products = list(catalogue_csv(day, seed, has_free=day == ODD_DAY))
    kiosks = list(kiosk_csv(day, seed))
    files = drop.files
    for name, lines in (
        ("pos_events/*.json", _numbered_events(day, seed, printed)),
        ("customer_changes/*.json", changes),
        ("products/*.csv", products),
        ("device_events/*.json", devices),
        ("kiosk_invoices/*.csv", kiosks),
    ):
        folder, _, suffix = name.partition("/*")
        with _Drop(landing / folder) as drop:
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


class _Drop:
    """Files that are written under hidden names and get their own at the end, all at once."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._stack = ExitStack()
        self._open: dict[str, int] = {}
        self._buffers: dict[str, list[str]] = {}
        self._times: dict[str, int] = {}

    @property
    def files(self) -> int:
        """How many files were written."""
        return len(self._open)

    def __enter__(self) -> _Drop:
        self._folder.mkdir(parents=True, exist_ok=True)
        return self

    def write(self, name: str, line: str) -> None:
        """Add a line to the file called ``name``."""
        buffer = self._buffers.setdefault(name, [])
        buffer.append(line)
        if len(buffer) >= 1_000:
            self._flush(name)

    def date(self, name: str, seconds: int) -> None:
        """Give the file called ``name`` a modification time, in seconds since 1970 UTC."""
        self._times[name] = seconds

    def __exit__(self, error: type[BaseException] | None, *_: object) -> None:
        if error is None:
            for name in self._buffers:
                self._flush(name)
        self._stack.close()
        for name in self._open:
            if error is None:
                self._publish(name)
            else:
                self._hidden(name).unlink(missing_ok=True)

    def _hidden(self, name: str) -> Path:
        # Spark and floodmark pass over names that begin with a dot.
        return self._folder / f".{name}.{os.getpid()}.tmp"

    def _flush(self, name: str) -> None:
        if name not in self._open:
            flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            self._open[name] = os.open(self._hidden(name), flags, 0o644)
            self._stack.callback(os.close, self._open[name])
        data = memoryview("".join(f"{line}\n" for line in self._buffers[name]).encode())
        while data:
            data = data[os.write(self._open[name], data) :]
        self._buffers[name].clear()

    def _publish(self, name: str) -> None:
        final = self._folder / name
        if final.exists() and filecmp.cmp(self._hidden(name), final, shallow=False):
            self._hidden(name).unlink()
            return
        if name in self._times:
            os.utime(self._hidden(name), (self._times[name], self._times[name]))
        self._hidden(name).replace(final)


def _land_invoices(
    drop: _Drop, stem: str, day: int, invoices: int, seed: int
) -> tuple[dict[str, int], list[_Invoice]]:
    """Write the day's invoices; return the counts and a sample of at most 200 invoices."""
    late = max(1, invoices // 50) if day > 1 else 0
    is_odd = day == ODD_DAY
    regular = invoices - late - _NIGHT_SALES
    per_file = min(_INVOICES_PER_FILE, -(-regular // 2))
    every = -(-regular // 200)
    resent = f"invoices-{stem}-resent.json"
    duplicated = corrected = 0
    sample: list[_Invoice] = []
    fate = Random(f"{seed}/{day}/fate")

    for position, invoice in enumerate(_sales(day, regular, seed)):
        part = f"invoices-{stem}-part-{position // per_file:04d}.json"
        line = _invoice_json(invoice, "{} pcs".format if is_odd and position == _MISFIT else None)
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
        elif draw < 0.035 and invoice.created < _midnight(day) + _NIGHT:
            drop.write(resent, _invoice_json(_corrected(invoice, fate)))
            corrected += 1

    for invoice in _night_sales(day, seed):
        drop.write(f"invoices-{stem}-night.json", _invoice_json(invoice))

    if day > 1:
        for position, invoice in enumerate(_late_sales(day, late, seed)):
            line = _invoice_json(
                invoice, operator.neg if is_odd and position == _NEGATIVE else None
            )
            drop.write(f"invoices-{stem}-late.json", line)
        if is_odd:
            drop.date(f"invoices-{stem}-late.json", _midnight(day) // 1000)
            again = Random(f"{seed}/{day}/overwritten")
            yesterday = f"invoices-{_stem(day - 1)}-night.json"
            for invoice in _night_sales(day - 1, seed):
                drop.write(yesterday, _invoice_json(_corrected(invoice, again)))
                corrected += 1
        for position, invoice in enumerate(_night_sales(day - 1, seed)):
            if position < _RESENT_AS_THEY_WERE:
                drop.write(resent, _invoice_json(invoice))
                duplicated += 1
            else:
                drop.write(resent, _invoice_json(_corrected(invoice, fate)))
                corrected += 1

    counts = {
        "invoices": invoices,
        "late": late,
        "duplicated": duplicated,
        "corrected": corrected,
        "lines": invoices + duplicated + corrected,
    }
    return counts, sample


def _stem(day: int) -> str:
    """The day as the names of its files have it."""
    return f"{FIRST_DAY + timedelta(days=day - 1):%Y-%m-%d}"


def _midnight(day: int) -> int:
    """Epoch milliseconds at which the day begins, UTC."""
    first = datetime(FIRST_DAY.year, FIRST_DAY.month, FIRST_DAY.day, tzinfo=timezone.utc)
    return int(first.timestamp() * 1000) + (day - 1) * 24 * 60 * _MINUTE


def _number(day: int, series: int, position: int) -> str:
    """An invoice number: ascending by day, within the day by series, within the series by time."""
    return f"INV-{FIRST_DAY + timedelta(days=day - 1):%Y%m%d}-{series}{position + 1:08d}"


def _sales(day: int, count: int, seed: int) -> Iterator[_Invoice]:
    """The day's sales, spread over the opening hours, in the order of their time."""
    random = Random(f"{seed}/{day}/sales")
    midnight = _midnight(day)
    slot = (_LAST_MOMENT - _OPENING) / count
    for position in range(count):
        created = midnight + _OPENING + int(slot * (position + random.random()))
        yield _invoice(random, _number(day, 0, position), created)


def _night_sales(day: int, seed: int) -> Iterator[_Invoice]:
    """The few sales that the next day's files bring again."""
    random = Random(f"{seed}/{day}/night")
    for position in range(_NIGHT_SALES):
        created = _midnight(day) + _NIGHT + int((position + random.random()) * 10 * _MINUTE)
        yield _invoice(random, _number(day, 8, position), created)


def _late_sales(day: int, count: int, seed: int) -> Iterator[_Invoice]:
    """Sales made on the night before ``day`` that only its own files bring."""
    random = Random(f"{seed}/{day}/late")
    slot = (_LAST_MOMENT - _NIGHT) / count
    for position in range(count):
        created = _midnight(day - 1) + _NIGHT + int(slot * (position + random.random()))
        yield _invoice(random, _number(day - 1, 9, position), created)


def _invoice(random: Random, number: str, created: int) -> _Invoice:
    draw = random.random
    store = STORE_IDS[int(draw() * len(STORE_IDS))]
    pos = 1 + int(draw() * 4)
    customer_type, card = "ANONYMOUS", None
    if draw() < 0.6:
        member = int(draw() * _MEMBERS)
        # Every fourth member is a prime one, so that a card has one type for ever.
        customer_type = "PRIME" if member % 4 == 0 else "NONPRIME"
        card = _card(member)
    address = None
    if card is not None and draw() < 0.25:
        address = _address(random)
    lines = []
    for _ in range(1 + int(draw() * 5)):
        code, description, _, price = ITEMS[int(draw() * len(ITEMS))]
        lines.append(_Line(code, description, price, 1 + int(draw() * 3)))
    return _Invoice(
        number=number,
        created=created,
        store=store,
        pos=f"{store}-POS{pos}",
        cashier=f"{store}-CAS{1 + int(draw() * 9)}",
        customer_type=customer_type,
        card=card,
        payment=PAYMENT_METHODS[int(draw() * len(PAYMENT_METHODS))],
        delivery="TAKEAWAY" if address is None else "HOME-DELIVERY",
        address=address,
        lines=tuple(lines),
    )


def _card(member: int) -> str:
    return f"{4_000_000_000 + member * 7_919:010d}"


def _address(random: Random) -> _Address:
    city, state = CITIES[int(random.random() * len(CITIES))]
    return _Address(
        line=f"{1 + int(random.random() * 400)}, {1 + int(random.random() * 30)}th Main Road",
        city=city,
        contact=f"9{int(random.random() * 1_000_000_000):09d}",
        pin=f"{560_001 + int(random.random() * 9_000)}",
        state=state,
    )


def _corrected(invoice: _Invoice, random: Random) -> _Invoice:
    """The invoice with other quantities, up to half an hour later."""
    lines = list(invoice.lines)
    changed = int(random.random() * len(lines))
    lines[changed] = lines[changed]._replace(quantity=lines[changed].quantity % 3 + 1)
    later = int((1 + random.random() * 29) * _MINUTE)
    return replace(invoice, created=invoice.created + later, lines=tuple(lines))


def _invoice_json(invoice: _Invoice, odd_count: Callable[[int], object] | None = None) -> str:
    """The invoice as one line of JSON; sums are made in paise, so that they are exact.

    ``odd_count`` makes what the till sends instead of the number of items.
    """
    total = sum(line.price * line.quantity for line in invoice.lines)
    items = sum(line.quantity for line in invoice.lines)
    address = invoice.address
    fields = (
        invoice.number,
        invoice.created,
        invoice.store,
        invoice.pos,
        invoice.cashier,
        invoice.customer_type,
        invoice.card,
        total / 100,
        odd_count(items) if odd_count else items,
        invoice.payment,
        total / 100,
        round(total * 0.025) / 100,
        round(total * 0.025) / 100,
        round(total * 0.00125) / 100,
        invoice.delivery,
        None
        if address is None
        else {
            "AddressLine": address.line,
            "City": address.city,
            "ContactNumber": address.contact,
            "PinCode": address.pin,
            "State": address.state,
        },
        [
            {
                "ItemCode": line.code,
                "ItemDescription": line.description,
                "ItemPrice": line.price / 100,
                "ItemQty": line.quantity,
                "TotalValue": line.price * line.quantity / 100,
            }
            for line in invoice.lines
        ],
    )
    sent: dict[str, Any] = dict(zip(INVOICE_FIELDS, fields, strict=True))
    if invoice.card is not None and invoice.created >= _midnight(ODD_DAY):
        sent["LoyaltyPoints"] = total // _AMOUNT_A_POINT
    return _encode(sent)


_encode = json.JSONEncoder(separators=(",", ":")).encode


def _numbered_events(day: int, seed: int, printed: list[_Invoice]) -> Iterator[str]:
    """The day's events as JSON, in the order of their time; some numbers between them are missing.

    Every day has the same number of events, so the next day's numbers go on where these end.
    """
    random = Random(f"{seed}/{day}/events")
    midnight = _midnight(day)
    events = [_Event(i.created, i.store, i.pos, "RECEIPT_PRINTED", i.number) for i in printed]
    while len(events) < EVENTS_PER_DAY:
        position = len(events)
        store = STORE_IDS[int(random.random() * len(STORE_IDS))]
        pos = f"{store}-POS{1 + int(random.random() * 4)}"
        time = midnight + _OPENING + int(random.random() * (_LAST_MOMENT - _OPENING))
        kind = "PRICE_CHECK" if position % 3 == 0 else "DRAWER_OPENED"
        events.append(_Event(time, store, pos, kind, None))
    events.sort(key=lambda event: (event.time, event.invoice or "", event.store, event.pos))

    span = EVENTS_PER_DAY + MISSING_EVENTS_PER_DAY
    missing = set(random.sample(range(1, span - 1), MISSING_EVENTS_PER_DAY))
    numbers = (n for n in range(span) if n not in missing)
    for number, event in zip(numbers, events, strict=True):
        fields = (
            (day - 1) * span + number + 1,
            event.store,
            event.pos,
            event.kind,
            event.time,
            event.invoice,
        )
        yield _encode(dict(zip(EVENT_FIELDS, fields, strict=True)))


class _Change(NamedTuple):
    """A customer's change, and how it lands: with the next day's files, and how often."""

    line: str
    late: bool
    copies: int


def _landed_changes(day: int, seed: int) -> list[str]:
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
    midnight = _midnight(day)
    if day == 1:
        for member in range(_MEMBERS):
            line = _change_json(random, member, "INSERT", (midnight + member) * 1000)
            yield _Change(line, late=False, copies=1)
    for position in range(CHANGES_PER_DAY):
        member = int(random.random() * _MEMBERS)
        time = midnight + _OPENING + int(random.random() * (_LAST_MOMENT - _OPENING))
        operation = "DELETE" if random.random() < 0.2 else "UPDATE"
        late, copies = random.random() < 0.15, 2 if random.random() < 0.05 else 1
        line = _change_json(random, member, operation, time * 1000 + position)
        yield _Change(line, late, copies)
    if day == ODD_DAY:
        noon = (midnight + _LAST_MOMENT // 2) * 1000
        line = _change_json(random, 0, "UPDATE", noon, tier=_NO_TIER)
        yield _Change(line, late=False, copies=1)


def _change_json(
    random: Random, member: int, operation: str, sequence: int, tier: str | None = None
) -> str:
    city, state = CITIES[int(random.random() * len(CITIES))]
    name = f"{FIRST_NAMES[member % 8]} {LAST_NAMES[member // 8 % 8]}"
    tier = tier or TIERS[int(random.random() * len(TIERS))]
    known = (None,) * 4 if operation == "DELETE" else (name, city, state, tier)
    fields = (_card(member), *known, operation, sequence)
    return _encode(dict(zip(CHANGE_FIELDS, fields, strict=True)))
