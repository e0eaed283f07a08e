"""The worked example: what its days load, a run without commits, odd files, and any cut ends in the same tables."""

from __future__ import annotations

import itertools
import json
import os
import random
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from dbt_floodmark.cli.demo import CORRECTIONS
from dbt_floodmark.cli.demo_findings import odd_files, refused_rows
from dbt_floodmark.demo.chain import FIRST_DAY, ODD_DAY
from dbt_floodmark.demo.data import land_day
from dbt_floodmark.demo.products import catalogue
from dbt_floodmark.demo.streams import device_events, kiosk_invoices
from tests.support.faults import Faults, injected
from tests.support.harness import FULL, REPOSITORY, Project, Run
from tests.support.selection import sample

pytestmark = pytest.mark.long("session")

INVOICES = 40
MODELS = (
    "bronze_invoices",
    "bronze_pos_events",
    "bronze_customer_changes",
    "bronze_product_catalogue",
    "silver_customers",
    "silver_customers_history",
    "silver_products",
    "silver_products_history",
    "silver_invoices",
    "silver_invoice_lines",
    "silver_pos_events",
    "gold_daily_store_sales",
    "gold_item_sales",
    "gold_customer_totals",
    "gold_invoice_customers",
)
#: Those that run on session alone.
STREAMS = (
    "bronze_device_events",
    "silver_device_events",
    "gold_device_counts",
    "gold_customer_hours",
)
#: What the lab cuts: two of these chains, others with each commit.
CHAINS = (
    ("bronze_product_catalogue", "silver_products_history"),
    ("bronze_customer_changes", "silver_customers_history"),
    ("bronze_invoices", "silver_invoices"),
    ("bronze_device_events", "silver_device_events"),
)
CUT = MODELS + STREAMS if FULL else tuple(itertools.chain(*sample(CHAINS, 2)))
PRODUCT = "sku, product_name, category, cast(list_price as string), cast(is_seasonal as string)"
#: When a row was loaded differs from run to run, and each example here has a landing folder of its own.
BY_RUN = ("loaded_at", "source_file")
#: What the odd day's invoices reach.
OF_INVOICES = (
    "bronze_invoices",
    "silver_invoices",
    "silver_invoice_lines",
    "gold_daily_store_sales",
    "gold_item_sales",
    "gold_customer_totals",
    "gold_invoice_customers",
)


def become_the_example(project: Project) -> None:
    """Replace the project's files by the repository's own models, seeds and tests."""
    for name in ("macros", "models", "seeds", "tests", "dbt_packages"):
        shutil.rmtree(project.root / name)
    (project.root / "packages.yml").unlink()
    shutil.copy(REPOSITORY / "dbt_project.yml", project.root)
    os.symlink(REPOSITORY / "macros", project.root / "macros")
    for name in ("models", "seeds", "tests/dbt"):
        shutil.copytree(REPOSITORY / name, project.root / name)
    project.profile = "floodmark"
    project.write_profile()


@dataclass
class Example:
    """The example in one schema, over one landing folder."""

    project: Project
    landing: Path
    runs: list[Run] = field(default_factory=list)
    before: dict[str, int] = field(default_factory=dict)
    after: dict[str, int] = field(default_factory=dict)

    @property
    def models(self) -> tuple[str, ...]:
        """The models that floodmark loads on this target."""
        return MODELS + STREAMS if self.project.target == "session" else MODELS

    def dbt(self, *args: str, **variables: Any) -> Run:
        variables["landing"] = str(self.landing)
        run = self.project.dbt(*args, "--no-write-json", "--vars", json.dumps(variables))
        self.runs.append(run)
        return run

    def replay(self) -> Run:
        """The invoice that a rule refuses on the odd day, corrected as `floodmark demo` does."""
        return self.dbt("run", "--select", "silver_invoices", floodmark_replay={"set": CORRECTIONS})

    def batches(self) -> dict[str, list[dict[str, Any]]]:
        found: dict[str, list[dict[str, Any]]] = {model: [] for model in self.models}
        schema = self.project.schema
        for (text,) in self.project.sql(
            f"select to_json(struct(*)) from {schema}_floodmark.batches order by batch_id"
        ):
            batch = json.loads(text)
            found[batch["model"].split(".")[1]].append(batch)
        return found

    def rows(self, model: str) -> Counter[tuple[Any, ...]]:
        columns = [row[0] for row in self.project.sql(f"describe {self.project.schema}.{model}")]
        # The rescued data ends with the path of its file.
        path = "regexp_replace(_rescued_data, ',?\"_file_path\":.*', '') as _rescued_data"
        kept = ", ".join(
            path if name == "_rescued_data" else name for name in columns if name not in BY_RUN
        )
        return self.project.rows(model, kept)

    def versions(self) -> dict[str, int]:
        return {model: self.project.version(model) for model in self.models}


@pytest.fixture(scope="module")
def landing(tmp_path_factory: pytest.TempPathFactory, target: str) -> Path:
    return tmp_path_factory.mktemp(f"landing_{target}")


@pytest.fixture(scope="module")
def control(make_project: Callable[..., Project], landing: Path) -> Example:
    """Day 1 built with every data test and unit test; days 2 and 3; nothing new; the odd day's invoices; gold
    against bronze while one is refused; its replay, and what follows from it."""
    project = make_project("example")
    become_the_example(project)
    example = Example(project, landing)
    land_day(landing, 1, invoices=INVOICES)
    example.dbt("build")
    for day in (2, 3):
        land_day(landing, day, invoices=INVOICES)
    example.dbt("run")
    example.before = example.versions()
    example.dbt("run")
    example.after = example.versions()
    land_day(landing, ODD_DAY, invoices=INVOICES)
    example.dbt("run", "--select", *OF_INVOICES)
    example.dbt("test", "--select", "test_type:singular")
    example.replay()
    example.dbt("run", "--select", *OF_INVOICES)
    return example


def test_every_model_and_every_test_passes(control: Example) -> None:
    for run in control.runs:
        bad = {
            n: run.message[n]
            for n, s in run.status.items()
            if s not in ("success", "pass", "no-op")
        }
        assert run.success and not bad, bad or run.log[-4000:]
    passed = [sum(status == "pass" for status in run.status.values()) for run in control.runs]
    assert passed[0] > 70 and max(passed[1:]) >= 6, passed


def test_days_two_and_three_are_loaded_alone(control: Example) -> None:
    batches = control.batches()
    for model, found in batches.items():
        assert [batch["state"] for batch in found] == ["committed"] * len(found), model
        first = "stream" if model in STREAMS else "first_load"
        assert found[0]["kind"] == first and len(found) >= 2, model
    landed = control.project.sql(
        f"select batch_id, count(*) from {control.project.schema}_floodmark.files "
        "where model like '%bronze_invoices' group by batch_id order by batch_id"
    )
    assert len(landed) == 3 and all(files > 0 for _, files in landed)
    read = [batch["rows_read"] for batch in batches["bronze_invoices"]]
    assert read[0] >= INVOICES and read[1] >= 2 * INVOICES and read[2] >= INVOICES


def lines(folder: Path) -> Iterator[tuple[str, int, str, dict[str, Any] | None]]:
    """The lines of a folder: file, number, text, and the record; None where it is no JSON."""
    for file in sorted(folder.iterdir()):
        for number, line in enumerate(file.read_text().splitlines(), start=1):
            try:
                record = json.loads(line, parse_float=Decimal)
            except ValueError:
                record = None
            yield file.name, number, line, record


def test_bronze_has_the_lines_that_lie_in_the_folder(control: Example) -> None:
    """Also after a file was overwritten and one came with an old time: each line that is JSON, and no other."""
    landed = Counter(
        (
            record["InvoiceNumber"],
            record["CreatedTime"],
            f"{record['TotalAmount']:.2f}",
            record["NumberOfItems"] if isinstance(record["NumberOfItems"], int) else None,
            len(record["InvoiceLineItems"]),
            str(record["LoyaltyPoints"]) if "LoyaltyPoints" in record else None,
            name,
        )
        for name, _, _, record in lines(control.landing / "invoices")
        if record is not None
    )
    assert any(row[3] is None for row in landed) and any(row[5] is not None for row in landed)
    found = control.project.sql(
        "select InvoiceNumber, CreatedTime, cast(TotalAmount as string), NumberOfItems, size(InvoiceLineItems), "
        "LoyaltyPoints, regexp_extract(source_file, '[^/]+$', 0) "
        f"from {control.project.schema}.bronze_invoices"
    )
    assert Counter(found) == landed


def test_gold_is_what_python_computes(control: Example) -> None:
    latest: dict[str, dict[str, Any]] = {}
    for _, _, _, record in lines(control.landing / "invoices"):
        if record is not None:
            known = latest.get(record["InvoiceNumber"], record)
            latest[record["InvoiceNumber"]] = max(known, record, key=lambda r: r["CreatedTime"])
    stores: dict[tuple[Any, ...], list[Any]] = defaultdict(lambda: [0, 0, Decimal(0), Decimal(0)])
    customers: dict[tuple[Any, ...], list[Any]] = defaultdict(lambda: [0, 0, Decimal(0)])
    sold: dict[tuple[Any, ...], list[Any]] = defaultdict(lambda: [0, Decimal(0)])
    for record in latest.values():
        day = str(datetime.fromtimestamp(record["CreatedTime"] / 1000, timezone.utc).date())
        items = sum(line["ItemQty"] for line in record["InvoiceLineItems"])
        taxes = record["CGST"] + record["SGST"] + record["CESS"]
        add(stores[record["StoreID"], day], 1, items, record["TotalAmount"], taxes)
        if record["CustomerCardNo"] is not None:
            add(customers[(record["CustomerCardNo"],)], 1, items, record["TotalAmount"])
        for line in record["InvoiceLineItems"]:
            add(sold[line["ItemCode"], day], line["ItemQty"], line["TotalValue"])
    for model, keys, sums, expected in (
        (
            "gold_daily_store_sales",
            "store_id, cast(sales_date as string)",
            "invoices, items, total_amount, tax_amount",
            stores,
        ),
        ("gold_customer_totals", "customer_card_no", "invoices, items, total_amount", customers),
        ("gold_item_sales", "item_code, cast(sales_date as string)", "quantity, total_value", sold),
    ):
        found = control.project.sql(f"select {keys}, {sums} from {control.project.schema}.{model}")
        length = len(keys.split(", "))
        assert {row[:length]: list(row[length:]) for row in found} == expected, model
        assert len(found) == len(expected), model


def add(sums: list[Any], *values: Any) -> None:
    """Add values to sums, each to its own."""
    sums[:] = [one + other for one, other in zip(sums, values, strict=True)]


def test_what_was_odd_is_in_the_ledger_and_the_quarantine(control: Example) -> None:
    """As `floodmark demo` tells it, of what the files hold: a column, a line, a value, two files."""
    model = f"{control.project.schema}.bronze_invoices"
    records = list(lines(control.landing / "invoices"))
    [(cut, number, raw, _)] = [one for one in records if one[3] is None]
    [(misfit, _, _, record)] = [
        one for one in records if one[3] is not None and isinstance(one[3]["NumberOfItems"], str)
    ]
    assert record is not None
    runs = {
        batch["invocation_id"]: batch["batch_id"] for batch in control.batches()["bronze_invoices"]
    }
    ledger = f"{control.project.schema}_floodmark"
    added, quarantined, rescued, replaced, old = odd_files(control.project.sql, ledger, runs)
    assert {one.run for one in (added, quarantined, rescued, replaced, old)} == {3}
    assert {one.model for one in (added, quarantined, rescued, replaced, old)} == {model}
    assert added[2:] == (
        "added",
        None,
        None,
        "the column LoyaltyPoints, in version 2 of the schema",
    )
    assert quarantined[2:5] == ("quarantined", cut, number)
    assert raw.startswith(quarantined.detail.partition(": ")[2][:-1])
    assert rescued[2:] == (
        "rescued",
        misfit,
        None,
        json.dumps({"NumberOfItems": record["NumberOfItems"]}),
    )
    night = f"invoices-{FIRST_DAY + timedelta(days=ODD_DAY - 2)}-night.json"
    assert replaced[2:] == ("replaced", night, None, "its rows of batch 2")
    assert old[2:4] == ("old", f"invoices-{FIRST_DAY + timedelta(days=ODD_DAY - 1)}-late.json")


def test_what_a_rule_refused_is_told_with_its_reason(control: Example) -> None:
    """The one invoice whose items are counted below zero; it is replayed by now."""
    [refused] = [
        record
        for _, _, _, record in lines(control.landing / "invoices")
        if record is not None and str(record["NumberOfItems"]).startswith("-")
    ]
    batches = control.batches()["silver_invoices"]
    runs = {batch["invocation_id"]: batch["batch_id"] for batch in batches}
    [found] = refused_rows(control.project.sql, f"{control.project.schema}_floodmark", runs)
    assert found.model == f"{control.project.schema}.silver_invoices"
    assert (found.reason, found.state) == ("items_are_counted: number_of_items > 0", "replayed")
    assert refused["InvoiceNumber"] in found.row
    assert [batch["kind"] for batch in batches][-1] == "replay"


def products(day: int) -> tuple[date, set[tuple[Any, ...]]]:
    """The catalogue of a day as the tables print its rows."""
    rows = {
        (p.sku, p.name, p.category, f"{p.price / 100:.2f}", str(p.is_seasonal).lower())
        for p in catalogue(day)
    }
    return FIRST_DAY + timedelta(days=day - 1), rows


def test_products_are_those_of_the_last_catalogue(control: Example) -> None:
    found = control.project.sql(f"select {PRODUCT} from {control.project.schema}.silver_products")
    assert Counter(found) == Counter(products(3)[1])
    for model in ("silver_products", "silver_products_history"):
        assert len(control.batches()[model]) == 3, "a catalogue is a batch"


def test_products_have_the_history_of_the_catalogues(control: Example) -> None:
    expected: list[tuple[Any, ...]] = []
    current: dict[tuple[Any, ...], date] = {}
    for day in (1, 2, 3):
        today, rows = products(day)
        for row in current.keys() - rows:
            expected.append((*row, str(current.pop(row)), str(today)))
        for row in rows - current.keys():
            current[row] = today
    expected += [(*row, str(start), None) for row, start in current.items()]
    found = control.project.sql(
        f"select {PRODUCT}, cast(__start_at as string), cast(__end_at as string) "
        f"from {control.project.schema}.silver_products_history"
    )
    assert Counter(found) == Counter(expected)


def test_streams_hold_what_landed(control: Example) -> None:
    """Events once, devices counted, hours of customers without the invoices that came behind the watermark."""
    if control.project.target != "session":
        return
    events = [event for day in (1, 2, 3) for event in device_events(day)]
    assert sum(control.rows("bronze_device_events").values()) == len(events)
    found = control.project.sql(
        "select device_id, event_type, date_format(event_at, \"yyyy-MM-dd'T'HH:mm:ss.SSS'Z'\") "
        f"from {control.project.schema}.silver_device_events"
    )
    assert Counter(found) == Counter(tuple(event) for event in set(events))
    counted: Counter[tuple[str, str]] = Counter(
        (event.device_id, event.event_type) for event in set(events)
    )
    devices = {event.device_id for event in events if event.event_type in ("USED", "FAILED")}
    found = control.project.sql(
        f"select device_id, used, failed from {control.project.schema}.gold_device_counts"
    )
    assert sorted(found) == sorted(
        (device, counted[device, "USED"], counted[device, "FAILED"]) for device in devices
    )


def test_late_invoices_are_dropped_and_counted(control: Example) -> None:
    if control.project.target != "session":
        return
    invoices = {day: kiosk_invoices(day) for day in (1, 2, 3)}
    # Days two and three come together: late is what belongs to the first.
    late = [one for one in invoices[2] if one.invoice_date.startswith("2026-01-01")]
    assert late
    batches = control.batches()["gold_customer_hours"]
    assert sum(batch["rows_late"] for batch in batches) == len(late)
    in_time = [one for day in invoices for one in invoices[day] if one not in late]
    newest = max(datetime.fromisoformat(one.invoice_date[:-1]) for one in in_time)
    hours: Counter[tuple[str, str]] = Counter()
    for one in in_time:
        start = datetime.fromisoformat(one.invoice_date[:-1]).replace(
            minute=0, second=0, microsecond=0
        )
        if start + timedelta(hours=1) <= newest - timedelta(hours=1):
            hours[str(start), one.customer_card_no] += int(one.amount.replace(".", ""))
    found = control.project.sql(
        "select cast(hour_start as string), customer_card_no, cast(amount * 100 as bigint) "
        f"from {control.project.schema}.gold_customer_hours"
    )
    assert {(hour, card): amount for hour, card, amount in found} == hours
    assert len(found) == len(hours)


def test_a_run_with_nothing_new_makes_no_commit(control: Example) -> None:
    assert control.after == control.before
    message = control.runs[2].message
    assert all("nothing new" in message[model] for model in control.models), message


@pytest.mark.lab
@pytest.mark.edge
def test_builds_cut_anywhere_end_in_the_same_tables(
    control: Example, make_project: Callable[..., Project], tmp_path: Path
) -> None:
    """Nodes are cut at a random statement, then one run goes through (FLOODMARK_LAB=full: all, three times, the first load too)."""
    project = make_project("example_cut")
    become_the_example(project)
    example = Example(project, tmp_path)
    seed = random.randrange(10**6)
    dice = random.Random(seed)
    models = [model for model in example.models if model in CUT]
    assert example.dbt("seed").success
    of_invoices = [model for model in models if model in OF_INVOICES]
    for days, loaded in (((1,), models), ((2, 3), models), ((ODD_DAY,), of_invoices)):
        if not loaded:
            continue
        for day in days:
            land_day(tmp_path, day, invoices=INVOICES)
        for _ in range(3 if FULL else int(days != (1,))):
            with injected(Faults(cuts={model: dice.randint(1, 30) for model in loaded})):
                example.dbt("run", "--select", *loaded)
        run = example.dbt("run", "--select", *loaded)
        assert run.success, (seed, run.log[-4000:])
    if "silver_invoices" in models:
        with injected(Faults(cuts={"silver_invoices": dice.randint(1, 30)})):
            example.replay()
        assert example.replay().success, seed
        assert example.dbt("run", "--select", *of_invoices).success, seed
    for model in models:
        assert example.rows(model) == control.rows(model), (seed, model)
