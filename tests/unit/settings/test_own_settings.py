"""What a model's config and its `meta: {floodmark: ...}` may say, without Spark."""

from __future__ import annotations

import datetime as dt
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.macros import Refused, load


def macros(**config: Any) -> SimpleNamespace:
    return load(config=SimpleNamespace(get=lambda name, default=None: config.get(name, default)))


@pytest.mark.parametrize(
    "in_meta",
    [
        {"watermark": {"column": "ts"}, "change_feed": False},
        {"expectations": [], "files": {"path": "a"}, "cdc": {}, "snapshot_diff": {}},
        {"trigger": "available_now", "output_mode": "append", "checkpoint_location": "c"},
        {},
    ],
)
def test_settings_of_floodmarks_may_stand_in_meta(in_meta: dict[str, Any]) -> None:
    assert macros(meta={"floodmark": in_meta})._meta_problems() == []


@pytest.mark.parametrize(
    "name",
    ["incremental_strategy", "unique_key", "partition_by", "merge_exclude_columns", "predicates"],
)
def test_dbts_settings_in_meta_would_be_read_by_nobody(name: str) -> None:
    floodmark = macros(meta={"floodmark": {name: "merge"}})
    [problem] = floodmark._meta_problems()
    assert problem == {
        "setting": f"meta.floodmark.{name}",
        "got": "merge",
        "expected": f"{name} in the model's config, since it is dbt's",
        "todo": "Move it there",
    }
    assert floodmark._is_managed()


@pytest.mark.parametrize("name", ["expectatons", "snapshot_dif", "Watermark", "materialized"])
def test_a_name_in_meta_that_is_no_setting_is_refused(name: str) -> None:
    floodmark = macros(meta={"floodmark": {name: {}}})
    [problem] = floodmark._meta_problems()
    assert problem["setting"] == f"meta.floodmark.{name}"
    assert problem["expected"].startswith("one of trigger, output_mode, ")
    assert problem["todo"] == "Remove it or correct its name"
    assert floodmark._is_managed()


def test_a_model_whose_meta_says_nothing_of_loading_stays_dbts() -> None:
    assert not macros(meta={"floodmark": {"change_feed": False}})._is_managed()
    assert not macros(meta={"owner": "me"})._is_managed()


@pytest.mark.parametrize(
    ("name", "value"), [("change_feed", "false"), ("change_feed", 0), ("unique_key", 7)]
)
def test_a_setting_of_another_type_is_refused(name: str, value: Any) -> None:
    [problem] = macros(**{name: value})._setting_type_problems()
    assert (problem["setting"], problem["got"]) == (name, value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"recursive": "false"}, "files.recursive: true or false. Write it without quotes"),
        ({"glob": ["*.csv"]}, "files.glob: one pattern. Write it as text, such as '*.csv'"),
        ({"path": ["landing"]}, "files.path: the folder to load from. Add it"),
        ({"rescued_data_column": True}, "files.rescued_data_column: a name, or false. Write one of them"),
        ({"rescued_data_column": ""}, "files.rescued_data_column: a name, or false. Write one of them"),
        ({"rescued_data_column": False, "recursive": False, "glob": "a*"}, None),
    ],
)  # fmt: skip
def test_files_of_another_type_are_refused(given: dict[str, Any], said: str | None) -> None:
    floodmark = load()
    problems = floodmark._schema_problems(
        "files", {"path": "landing"} | given, floodmark._files_schema()
    )
    assert [f"{one['setting']}: {one['expected']}. {one['todo']}" for one in problems] == (
        [said] if said else []
    )


def test_a_value_that_json_does_not_know_is_printed() -> None:
    """YAML makes dates of bounds that have no quotes."""
    floodmark = load()
    got = {"from": dt.date(2024, 1, 1), "to": [dt.datetime(2024, 2, 1, 6), None, 7, True, 0.5]}
    with pytest.raises(Refused) as refused:
        floodmark._refuse([{"setting": "x", "got": got, "expected": "y", "todo": "Do it"}], "z")
    assert (
        'x: got {"from": "2024-01-01", "to": ["2024-02-01 06:00:00", null, 7, true, 0.5]}; '
        "expected y. Do it" in str(refused.value)
    )


@pytest.mark.parametrize(
    ("config", "beside", "taken"),
    [
        ({"expectations": [{}]}, {"name": "orders__quarantine"}, True),
        ({"files": {"path": "in"}}, {"name": "bad", "alias": "Orders__Quarantine"}, True),
        ({"incremental_strategy": "cdc"}, {"name": "orders__cdc_state"}, True),
        ({"expectations": [{}]}, {"name": "orders__cdc_state"}, False),
        ({"watermark": {"column": "at"}}, {"name": "orders__quarantine"}, False),
        ({"expectations": [{}]}, {"name": "orders__quarantine", "schema": "other"}, False),
        ({"expectations": [{}]}, {"name": "orders__quarantine", "type": "test"}, False),
        ({"expectations": [{}]}, {"name": "orders__quarantine", "how": "ephemeral"}, False),
    ],
)
def test_no_node_has_the_name_of_a_table_that_is_kept_beside(
    config: dict[str, Any], beside: dict[str, str], taken: bool
) -> None:
    node = SimpleNamespace(
        resource_type=beside.get("type", "model"),
        schema=beside.get("schema", "shop"),
        name=beside["name"],
        alias=beside.get("alias"),
        config=SimpleNamespace(materialized=beside.get("how", "table")),
    )
    floodmark = load(
        config=SimpleNamespace(get=lambda name, default=None: config.get(name, default)),
        graph=SimpleNamespace(nodes={"model.shop.beside": node}),
        this=SimpleNamespace(schema="shop", identifier="orders"),
    )
    problems = floodmark._taken_name_problems()
    assert len(problems) == taken
    if taken:
        assert problems[0]["expected"] == (
            f"no other node with the name shop.{node.alias or node.name}, and model.shop.beside has it"
        )


@pytest.mark.parametrize(
    ("code", "is_guarded"),
    [
        ("{% if is_incremental() %} where x {% endif %}", True),
        ("{%- if var('a') and\n is_incremental () -%}", True),
        ("{% set x = {'a': {}} if is_incremental() else {} %}", True),
        ("where {{ 'x' if is_incremental() else 'y' }}", True),
        ("{# is_incremental() #} select 1", False),
        ("{#- {% if is_incremental() %}\n{% endif %} -#} {{ x }}", False),
        ("-- is_incremental() of {{ ref('a') }} is not needed: is_incremental()", False),
        ("{% set x = 1 %} is_incremental() {{ ref('a') }}", False),
    ],
)
def test_is_incremental_counts_where_jinja_calls_it(code: str, is_guarded: bool) -> None:
    assert load(model={"raw_code": code})._is_guarded() is is_guarded


GUARD = "{% if is_incremental() %}{% endif %}"
FILTER = "select 1 where /*floodmark:bounds `ts`*/ true /*floodmark:end*/"
BARE = "select 1"
THEIRS = ["macro.dbt.is_incremental", "macro.floodmark.new_files"]
OURS = ["macro.shop.only_new", *THEIRS]
OTHERS = ["macro.dbt_utils.star", *THEIRS]


@pytest.mark.parametrize(
    ("code", "compiled", "macros", "goes_on", "watermark", "refused"),
    [
        (BARE, None, THEIRS, False, {"start": 1}, None),
        (BARE, FILTER, THEIRS, False, {"start": 1}, None),
        (BARE, BARE, THEIRS, False, {}, "watermark"),
        (BARE, BARE, THEIRS, True, {}, "watermark"),
        (GUARD, BARE, THEIRS, False, {}, None),
        (GUARD, BARE, THEIRS, False, {"gaps": "warn"}, None),
        (GUARD, BARE, THEIRS, False, {"gaps": "wait"}, "watermark.gaps"),
        (GUARD, BARE, THEIRS, False, {"step": 5}, "watermark.step"),
        # What else depends on is_incremental() is no guard of the filter.
        (GUARD, FILTER, THEIRS, False, {"start": 1, "gaps": "wait"}, None),
        (GUARD, FILTER, THEIRS, True, {"start": 1}, None),
        # The guard may stand in a macro of the project; in an incremental run it hides nothing.
        (BARE, BARE, OURS, False, {}, None),
        (BARE, BARE, OURS, False, {"sql": "max(ts)"}, "watermark.sql"),
        (BARE, BARE, OURS, True, {}, "watermark"),
        (BARE, BARE, OTHERS, False, {}, "watermark"),
    ],
)
def test_the_filter_of_a_first_load_stands_in_its_sql_or_behind_a_guard(
    code: str,
    compiled: str | None,
    macros: list[str],
    goes_on: bool,
    watermark: dict[str, Any],
    refused: str | None,
) -> None:
    model = {"raw_code": code, "compiled_code": compiled, "package_name": "shop"}
    model["depends_on"] = {"macros": macros}
    floodmark = load(model=model, is_incremental=lambda: goes_on)
    problems = floodmark._filter_problems({"column": "ts"} | watermark)
    assert [problem["setting"] for problem in problems] == ([refused] if refused else [])


@pytest.mark.parametrize(
    ("format", "files", "said"),
    [
        ("text", {"schema": "id int"}, "files.schema: got"),
        ("parquet", {"single_variant_column": "v"}, "files.single_variant_column: got"),
        ("xml", {"schema": "id int"}, "files.options.rowTag: got"),
        ("text", {"on_corrupt": "null"}, "files.on_corrupt: got"),
        ("json", {"on_corrupt": "null"}, None),
        ("text", {}, None),
        ("json", {"schema": "id int", "rescued_data_column": "r"}, None),
    ],
)
def test_what_a_format_lacks_that_the_names_of_files_tell(
    format: str, files: dict[str, Any], said: str | None
) -> None:
    floodmark = macros(files={"path": "in"} | files)
    floodmark._is_stream = lambda: False
    settings = floodmark._files_settings() | {"format": format}
    if said is None:
        floodmark._check_format(settings)
        return
    with pytest.raises(Refused, match=said):
        floodmark._check_format(settings)


@pytest.mark.parametrize(
    ("got", "shown"),
    [
        ("größe", '"größe"'),
        ({"ключ": ["日本", "😀é"]}, '{"ключ": ["日本", "😀é"]}'),
        ('a "b" \\u00e9 \\', r'"a \"b\" \\u00e9 \\"'),
        # What cannot be seen, and half of a letter.
        ("a\xa0b\u200bc\n\x85\ufeff", r'"a\u00a0b\u200bc\n\u0085\ufeff"'),
        ("\ud83d \ud83d\ude00\ude00", r'"\ud83d 😀\ude00"'),
    ],
)
def test_letters_of_every_alphabet_are_printed_as_they_are(got: object, shown: str) -> None:
    floodmark = load()
    with pytest.raises(Refused) as refused:
        floodmark._refuse([{"setting": "x", "got": got, "expected": "y", "todo": "Do it"}], "z")
    assert f"x: got {shown}; expected y. Do it" in str(refused.value)


UNHEEDED = "models/silver/notes.sql"


def unheeded(config: dict[str, Any], selected: bool = True, **node: Any) -> str | None:
    """What a run says of a model of this config before it begins."""
    given = {"name": "notes", "resource_type": "model", "original_file_path": UNHEEDED} | node
    config = {"materialized": "view"} | config
    floodmark = load(
        graph=SimpleNamespace(nodes={"n": {"config": config} | given}),
        selected_resources=["n"] if selected else [],
    )
    try:
        floodmark._check_unheeded_settings()
    except Refused as refused:
        return " ".join(str(refused).split())
    return None


@pytest.mark.parametrize("materialized", ["view", "table", "ephemeral"])
@pytest.mark.parametrize("name", ["expectations", "cdc", "snapshot_diff"])
def test_settings_that_a_materialization_would_not_heed_stop_the_run(
    name: str, materialized: str
) -> None:
    value = [{"name": "a", "expect": "id > 0"}] if name == "expectations" else {"sequence_by": "n"}
    asked = {"materialized": materialized}
    kinds = "incremental" if name == "snapshot_diff" else "incremental or streaming_table"
    told = (
        f'floodmark refuses the run: 1 problem - {name} of notes ({UNHEEDED}): got "materialized: {materialized}"; '
        f"expected materialized: {kinds}. No other model is loaded by this setting. Change the materialization, or "
        "remove the setting; if a folder of the project sets it, write config({}) in this model"
    )
    said = unheeded(asked | {name: value})
    assert said is not None and said.endswith(told.replace("{}", f"{name}=none"))
    in_meta = unheeded(asked | {"meta": {"floodmark": {name: value}}})
    assert in_meta is not None and "write config(meta={'floodmark': {}}) in this model" in in_meta
    assert unheeded(asked | {name: value}, selected=False) is None
    for kind in ("snapshot", "seed", "test"):
        assert unheeded(asked | {name: value}, resource_type=kind) is None


@pytest.mark.parametrize(
    "config",
    [
        # A folder may have them for models of all kinds, and an empty one says nothing.
        {"watermark": {"column": "ts"}, "files": {"path": "a"}, "incremental_strategy": "cdc"},
        {"expectations": [], "cdc": {}, "snapshot_diff": None},
        {"materialized": "incremental", "expectations": [{"name": "a"}]},
        {"materialized": "streaming_table", "cdc": {"sequence_by": "n"}},
        # One of the project's own may call floodmark.
        {"materialized": "incremental_of_ours", "expectations": [{"name": "a"}]},
    ],
)
def test_other_settings_stop_no_run(config: dict[str, Any]) -> None:
    assert unheeded(config) is None
