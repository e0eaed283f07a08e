"""The example's generator: the same bytes for the same arguments, and the days it promises."""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from dbt_floodmark.demo import data as demo_data
from dbt_floodmark.demo.chain import ODD_DAY, STORE_IDS
from dbt_floodmark.demo.customers import CHANGE_FIELDS, TIERS
from dbt_floodmark.demo.data import land_day
from dbt_floodmark.demo.events import EVENT_FIELDS
from dbt_floodmark.demo.invoices import INVOICE_FIELDS
from tests.support.harness import REPOSITORY

SEEDS = REPOSITORY / "seeds"
DAY = 24 * 60 * 60 * 1000
FIRST_MIDNIGHT = 1_767_225_600_000
LOOKBACK = 2 * 60 * 60 * 1000

Row = dict[str, Any]


def read(landing: Path, folder: str, day: str = "") -> list[Row]:
    files = sorted((landing / folder).glob(f"*-{day}*.json"))
    return [json.loads(line) for file in files for line in file.read_text().splitlines()]


def contents(landing: Path) -> dict[str, bytes]:
    files = (file for file in landing.rglob("*") if file.is_file())
    return {str(file.relative_to(landing)): file.read_bytes() for file in files}


def latest(rows: list[Row]) -> dict[str, Row]:
    return {row["InvoiceNumber"]: row for row in sorted(rows, key=lambda r: r["CreatedTime"])}


@pytest.fixture(scope="module")
def landing(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("landing")
    for day in (1, 2, 3):
        land_day(folder, day)
    return folder


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path) -> None:
    assert land_day(tmp_path / "a", 2) == land_day(tmp_path / "b", 2)
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_another_seed_gives_other_bytes(tmp_path: Path) -> None:
    land_day(tmp_path / "a", 2)
    land_day(tmp_path / "b", 2, seed=8)
    assert contents(tmp_path / "a") != contents(tmp_path / "b")


def test_landing_a_day_again_leaves_its_files_untouched(tmp_path: Path) -> None:
    for day in (1, ODD_DAY):
        land_day(tmp_path, day)
        before = {file: file.stat().st_mtime_ns for file in tmp_path.rglob("*") if file.is_file()}
        land_day(tmp_path, day)
        assert {
            file: file.stat().st_mtime_ns for file in tmp_path.rglob("*") if file.is_file()
        } == before


def test_only_finished_files_are_left(landing: Path) -> None:
    assert all(Path(name).suffix in (".json", ".csv") for name in contents(landing))
    assert not any(Path(name).name.startswith(".") for name in contents(landing))


def test_a_day_that_fails_leaves_no_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError("no space left")

    monkeypatch.setattr(demo_data, "night_sales", fail)
    with pytest.raises(OSError, match="no space left"):
        land_day(tmp_path, 1, invoices=5_000)
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("day", [1, 2, 3])
@pytest.mark.parametrize("invoices", [10, 11, 57, 500, 2_345])
def test_the_counts_are_those_of_the_files(tmp_path: Path, day: int, invoices: int) -> None:
    counts = land_day(tmp_path, day, invoices=invoices)
    rows = read(tmp_path, "invoices")
    numbers = defaultdict(list)
    for row in rows:
        numbers[row["InvoiceNumber"]].append(row)
    midnight = FIRST_MIDNIGHT + (day - 1) * DAY
    late = [r for n, r in numbers.items() if r[0]["CreatedTime"] < midnight and "-9" in n]
    again = [n for n, r in numbers.items() if r[0]["CreatedTime"] < midnight and "-8" in n]

    assert counts["invoices"] == invoices == len(numbers) - len(again)
    assert counts["late"] == len(late)
    assert counts["lines"] == len(rows) == invoices + counts["duplicated"] + counts["corrected"]
    assert counts["duplicated"] > 0
    assert counts["corrected"] > 0
    assert (counts["late"] > 0) == (day > 1)
    assert counts["events"] == len(read(tmp_path, "pos_events"))
    assert counts["changes"] == len(read(tmp_path, "customer_changes"))
    assert counts["files"] == len(contents(tmp_path))


def test_every_line_has_exactly_the_fields(landing: Path) -> None:
    for row in read(landing, "invoices"):
        assert tuple(row) == INVOICE_FIELDS
        assert (row["CustomerCardNo"] is None) == (row["CustomerType"] == "ANONYMOUS")
        assert (row["DeliveryAddress"] is None) == (row["DeliveryType"] == "TAKEAWAY")
        assert row["StoreID"] in STORE_IDS
        items = row["InvoiceLineItems"]
        assert row["TotalAmount"] == pytest.approx(sum(item["TotalValue"] for item in items))
        assert row["NumberOfItems"] == sum(item["ItemQty"] for item in items)
    for row in read(landing, "pos_events"):
        assert tuple(row) == EVENT_FIELDS
    for row in read(landing, "customer_changes"):
        assert tuple(row) == CHANGE_FIELDS
        assert (row["FullName"] is None) == (row["operation"] == "DELETE")


def test_customer_changes_come_out_of_order_and_some_twice(tmp_path: Path) -> None:
    lines: list[str] = []
    late = 0
    for day in (1, 2, 3):
        land_day(tmp_path, day, invoices=10)
    for day, file in enumerate(sorted((tmp_path / "customer_changes").glob("*.json")), start=1):
        landed = file.read_text().splitlines()
        lines += landed
        numbers = [json.loads(line)["sequence_num"] for line in landed]
        assert numbers != sorted(numbers)
        midnight = (FIRST_MIDNIGHT + (day - 1) * DAY) * 1000
        late += sum(number < midnight for number in numbers)
    assert late > 0 and len(set(lines)) < len(lines)
    deleted = {json.loads(x)["CustomerCardNo"] for x in lines if '"DELETE"' in x}
    assert len(deleted) > 20
    events = {json.loads(x)["sequence_num"]: x for x in lines}
    assert len(events) == len(set(lines)), "a sequence number is of one event"


def test_duplicates_come_within_a_file_across_files_and_across_days(landing: Path) -> None:
    places = defaultdict(list)
    for file in sorted((landing / "invoices").glob("*.json")):
        for line in file.read_text().splitlines():
            places[line].append(file.name)
    repeated = [files for files in places.values() if len(files) > 1]
    assert any(len(set(files)) == 1 for files in repeated)
    assert any(len({name[9:19] for name in files}) == 1 < len(set(files)) for files in repeated)
    assert any(len({name[9:19] for name in files}) > 1 for files in repeated)


def test_a_correction_is_later_and_stays_in_its_groups(landing: Path) -> None:
    versions: dict[str, dict[int, Row]] = defaultdict(dict)
    for row in read(landing, "invoices"):
        versions[row["InvoiceNumber"]][row["CreatedTime"]] = row
    corrected = [list(v.values()) for v in versions.values() if len(v) > 1]
    assert corrected
    for first, second in corrected:
        assert second["TotalAmount"] != first["TotalAmount"]
        for field in ("StoreID", "CustomerCardNo"):
            assert second[field] == first[field]
        assert second["CreatedTime"] // DAY == first["CreatedTime"] // DAY
        codes = [[line["ItemCode"] for line in row["InvoiceLineItems"]] for row in (first, second)]
        assert codes[0] == codes[1]


@pytest.mark.parametrize("invoices", [10, 500])
def test_what_comes_a_day_late_is_within_two_hours_of_the_mark(
    tmp_path: Path, invoices: int
) -> None:
    mark = 0
    for day in (1, 2, 3):
        folder = tmp_path / str(day)
        land_day(folder, day, invoices=invoices)
        created = [row["CreatedTime"] for row in read(folder, "invoices")]
        assert min(created) > mark - LOOKBACK
        assert (min(created) < mark) == (day > 1)
        mark = max(created)


def test_an_invoice_number_carries_the_day_of_its_sale(landing: Path) -> None:
    for row in read(landing, "invoices"):
        day = (row["CreatedTime"] - FIRST_MIDNIGHT) // DAY + 1
        assert row["InvoiceNumber"].startswith(f"INV-202601{day:02d}-")
        assert len(row["InvoiceNumber"]) == 22


@pytest.mark.parametrize("invoices", [10, 500])
def test_the_odd_day(tmp_path: Path, invoices: int) -> None:
    """A new field, a line that is cut off, a text for a number, an old time, and a file that is overwritten."""
    for day in range(1, ODD_DAY):
        land_day(tmp_path, day, invoices=invoices)
    folder = tmp_path / "invoices"
    newest = max(file.stat().st_mtime for file in folder.iterdir())
    before = {file.name: file.read_bytes() for file in folder.iterdir()}
    counts = land_day(tmp_path, ODD_DAY, invoices=invoices)

    after = {file.name: file.read_bytes() for file in folder.iterdir()}
    assert [name for name in before if before[name] != after[name]] == [
        "invoices-2026-01-03-night.json"
    ]
    versions = zip(
        *(files["invoices-2026-01-03-night.json"].splitlines() for files in (before, after)),
        strict=True,
    )
    for first, second in (map(json.loads, pair) for pair in versions):
        assert first["InvoiceNumber"] == second["InvoiceNumber"]
        assert second["CreatedTime"] > first["CreatedTime"] >= FIRST_MIDNIGHT + 3 * DAY - LOOKBACK
        assert second["TotalAmount"] != first["TotalAmount"]

    rows, cut_off = [], []
    for name in after.keys() - before.keys() | {"invoices-2026-01-03-night.json"}:
        text = after[name].decode().splitlines()
        for number, line in enumerate(text):
            try:
                rows.append(json.loads(line))
            except ValueError:
                cut_off.append((line, text[number + 1]))
    [(line, whole)] = cut_off
    assert whole.startswith(line)
    assert counts["lines"] == len(rows)
    assert sum(isinstance(row["NumberOfItems"], str) for row in rows) == 1
    [negative] = [
        row
        for row in rows
        if not isinstance(row["NumberOfItems"], str) and row["NumberOfItems"] < 0
    ]
    assert -negative["NumberOfItems"] == sum(
        line["ItemQty"] for line in negative["InvoiceLineItems"]
    )
    assert sum(row["InvoiceNumber"] == negative["InvoiceNumber"] for row in rows) == 1
    midnight = FIRST_MIDNIGHT + (ODD_DAY - 1) * DAY
    for row in rows:
        is_members = row["CustomerCardNo"] is not None
        assert ("LoyaltyPoints" in row) == (is_members and row["CreatedTime"] >= midnight)
    late = (folder / "invoices-2026-01-04-late.json").stat().st_mtime
    assert late == midnight / 1000 < newest


def test_on_the_odd_day_a_customer_and_a_product_are_wrong(tmp_path: Path) -> None:
    """A tier that there is not, and a price of nothing; on the days beside it all is right."""
    wrong = []
    for day in range(ODD_DAY - 1, ODD_DAY + 2):
        land_day(tmp_path, day, invoices=10)
        lines = (
            (tmp_path / f"customer_changes/customer_changes-2026-01-0{day}.json")
            .read_text()
            .splitlines()
        )
        tiers = [json.loads(line)["LoyaltyTier"] for line in lines]
        prices = (tmp_path / f"products/products-2026-01-0{day}.csv").read_text().splitlines()
        wrong += [(day, tier) for tier in tiers if tier not in (None, *TIERS)]
        wrong += [(day, line.split(",")[0]) for line in prices if ",0.00," in line]
    assert wrong == [(ODD_DAY, "PLATNUM"), (ODD_DAY, "ITM101")]


def test_days_of_different_size_do_not_change_each_other(tmp_path: Path) -> None:
    """A large first day and small ones after it: what is sent again is what was sent first."""
    land_day(tmp_path, 1, invoices=900)
    first = read(tmp_path, "invoices")
    land_day(tmp_path, 2, invoices=20)
    before = latest(first)
    for row in read(tmp_path, "invoices", "2026-01-02"):
        known = before.get(row["InvoiceNumber"])
        assert known is None or known["StoreID"] == row["StoreID"]


def test_event_numbers_ascend_without_end_and_with_gaps(landing: Path) -> None:
    numbers = [row["EventSeq"] for row in read(landing, "pos_events")]
    assert numbers == sorted(set(numbers))
    assert (numbers[0], numbers[-1]) == (1, 3 * 410)
    assert numbers[399:401] == [410, 411]
    assert 3 * 410 - len(numbers) == 30


def test_events_name_invoices_that_landed(landing: Path) -> None:
    known = latest(read(landing, "invoices"))
    named = [row for row in read(landing, "pos_events") if row["InvoiceNumber"] is not None]
    assert named
    assert all(known[row["InvoiceNumber"]]["PosID"] == row["PosID"] for row in named)


def test_the_seed_has_the_stores_of_the_generator() -> None:
    with (SEEDS / "stores.csv").open() as file:
        assert [row["store_id"] for row in csv.DictReader(file)] == list(STORE_IDS)


@pytest.mark.parametrize(
    ("day", "invoices", "sentence"),
    [
        (0, 500, "day must be 1 or more, got 0"),
        (1, 9, "invoices must be 10 or more, got 9"),
    ],
)
def test_impossible_days_are_refused(
    tmp_path: Path, day: int, invoices: int, sentence: str
) -> None:
    with pytest.raises(ValueError, match=sentence):
        land_day(tmp_path, day, invoices=invoices)
