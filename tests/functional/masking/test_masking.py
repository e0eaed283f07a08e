"""Columns that identify a person: masked, hashed, tokenised, made coarser; and the test that none leaks."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable

import pytest

from tests.support.harness import Project, sentence

pytestmark = pytest.mark.long("session")

#: Both JVMs have the test's environment; this variable is there, and is no secret.
SALT = "PATH"
PEOPLE = """\
{{ config(materialized='table', file_format='delta') }}
select * from values
    ('4000123412341234', timestamp'2001-05-17 10:00:00', '560001', 1),
    ('4000', timestamp'1999-12-31 23:00:00', '56', 2),
    (null, null, null, 3)
    as people(card_no, born, pin, id)
"""
MASKED = """\
{{ config(materialized='table', file_format='delta') }}
select
    id,
    {{ floodmark.mask('card_no') }} as masked,
    {{ floodmark.mask('card_no', keep=2, character='x') }} as masked_x,
    {{ floodmark.hash_with_salt('card_no', variable='SALT') }} as hashed,
    {{ floodmark.generalise('born', 'month') }} as month,
    {{ floodmark.generalise('pin', 3) }} as area,
    {{ floodmark.tokenise('p.card_no', ref('tokens')) }} as token,
    {{ floodmark.tokenise('value', ref('tokens')) }} as by_value,
    {{ floodmark.tokenise("coalesce(_tokens, `token`)", ref('tokens')) }} as by_token
from (select *, card_no as value, card_no as token, string(null) as _tokens from {{ ref('people') }}) as p
""".replace("SALT", SALT)
TOKENS = """\
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='value',
    merge_exclude_columns=['token'], full_refresh=false, expectations=[]) }}
{{ floodmark.tokens_of(ref('people'), 'card_no') }}
"""


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Project]) -> Project:
    project = make_project("masking")
    project.model(
        "people",
        PEOPLE,
        "columns:\n  - name: card_no\n    config: {tags: [pii]}\n  - {name: pin, config: {tags: [pii]}}\n",
    )
    project.model("tokens", TOKENS)
    project.model("masked", MASKED, "data_tests: [floodmark.no_pii]\n")
    project.model(
        "between",
        "{{ config(materialized='ephemeral') }} select *, 'x' as shown from {{ ref('masked') }}",
        "columns:\n  - {name: shown, config: {tags: [pii]}}\n",
    )
    project.build()
    return project


def test_values_are_masked(project: Project) -> None:
    rows = project.sql(
        "select masked, masked_x, hashed, cast(month as string), area from "
        f"{project.schema}.masked order by id"
    )

    def hashed(value: str) -> str:
        # The JVM may have a path of its own before that of the test: only its form is known.
        return hashlib.sha256(f"{os.environ[SALT]}:{value}".encode()).hexdigest()

    assert rows[0][:2] == ("************1234", "xxxxxxxxxxxxxx34")
    assert rows[0][3:] == ("2001-05-01 00:00:00", "560")
    assert rows[1][:2] == ("****", "xx00")
    assert rows[1][3:] == ("1999-12-01 00:00:00", "56")
    assert rows[2] == (None,) * 5
    assert all(len(row[2]) == len(hashed("")) for row in rows[:2])
    assert rows[0][2] != rows[1][2]


def test_the_salt_is_in_no_sql_and_must_be_there(project: Project) -> None:
    compiled = (project.root / "target/compiled/shop/models/masked.sql").read_text()
    assert os.environ[SALT] not in compiled
    project.model("unsalted", MASKED.replace(f"variable='{SALT}'", "variable='NO_SALT_IS_HERE'"))
    run = project.dbt("run", "--select", "unsalted")
    assert run.status["unsalted"] == "error"
    assert (
        "floodmark: the environment of Spark has no NO_SALT_IS_HERE, the salt of hash_with_salt: set it where Spark "
        "starts" in sentence(run.log)
    )


def test_a_value_keeps_its_token(project: Project) -> None:
    before = project.rows("tokens")
    assert len(before) == 2
    project.model("people", PEOPLE.replace("(null, null, null, 3)", "('5111', null, null, 3)"))
    project.build("--select", "people tokens masked", "--full-refresh")
    after = project.rows("tokens")
    assert len(after) == 3 and not before - after
    tokens = project.sql(f"select count(distinct token), count(token) from {project.schema}.masked")
    assert tokens == [(3, 3)]


def test_a_column_may_have_the_name_of_one_of_the_tokens(project: Project) -> None:
    tokens = project.sql(f"select token, by_value, by_token from {project.schema}.masked")
    assert all(len({*row}) == 1 for row in tokens) and len({*tokens}) > 1


def test_nothing_leaks(project: Project) -> None:
    run = project.dbt("test", "--select", "masked")
    assert run.success, run.log[-3000:]


@pytest.mark.parametrize(
    ("select", "leaks"),
    [
        (
            "id, masked as pin, shown from {{ ref('between') }}",
            [("pin", "people.pin", "name"), ("shown", "between.shown", "name")],
        ),
        (
            "p.id, p.card_no as number, length(p.pin) as n from {{ ref('people') }} as p "
            "join {{ ref('masked') }} as m on m.id = p.id",
            [("number", "people.card_no", "value")],
        ),
        (
            "id, cast(pin as decimal(9,0)) as area from {{ ref('people') }}",
            [("area", "people.pin", "value")],
        ),
    ],
    ids=["by_name", "by_value", "as_a_number"],
)
def test_a_leak_is_found(project: Project, select: str, leaks: list[tuple[str, str, str]]) -> None:
    project.model(
        "published",
        "{{ config(materialized='table', file_format='delta') }} select " + select,
        # Behind `where` the test gets the text of a subquery instead of the relation.
        "data_tests: [{floodmark.no_pii: {config: {store_failures: true, schema: failures, alias: "
        f"leaks_{leaks[0][0]}{', where: id > 0' if leaks[0][2] == 'value' else ''}}}}}}}]\n",
    )
    project.build("--select", "published")
    run = project.dbt("test", "--select", "published")
    assert f"Got {len(leaks)} result" in run.log
    found = project.sql(
        f"select column_name, leaked_from, how from {project.schema}_failures.leaks_{leaks[0][0]}"
    )
    assert sorted(found) == [(name, f"{project.schema}.{where}", how) for name, where, how in leaks]
    is_ephemeral = "between.shown, and not for its values, since" in sentence(run.log)
    assert is_ephemeral is ("between" in select)


def test_a_leak_within_a_struct_an_array_or_a_map_is_found(project: Project) -> None:
    """And each field of a tagged struct."""
    table = "{{ config(materialized='table', file_format='delta') }} "
    project.model(
        "shipped",
        table + "select id, named_struct('line', card_no, 'city', 'Pune') as address "
        "from {{ ref('people') }}",
        "columns:\n  - {name: address, config: {tags: [pii]}}\n",
    )
    within = (
        "address.line as shipped_to, named_struct('card_no', 'x') as customer, array(address.line) as cards, "
        "map('no', address.line) as by_key, array(named_struct('n', array(address.line))) as deep"
    )
    project.model(
        "published_within",
        table + f"select id, {within} from {{{{ ref('shipped') }}}}",
        "data_tests: [{floodmark.no_pii: {config: {store_failures: true, schema: failures, "
        "alias: leaks_within}}}]\n",
    )
    project.build("--select", "shipped", "published_within")
    assert not project.dbt("test", "--select", "published_within").success
    s = project.schema
    found = project.sql(f"select column_name, leaked_from, how from {s}_failures.leaks_within")
    by_value = [
        (path, f"{s}.{column}", "value")
        for path in ("by_key", "cards", "deep.n", "shipped_to")
        for column in ("people.card_no", "shipped.address")
    ]
    assert sorted(found) == sorted([("customer.card_no", f"{s}.people.card_no", "name"), *by_value])


def test_another_unit_is_refused(project: Project) -> None:
    project.model(
        "coarse", "select {{ floodmark.generalise('born', 'decade') }} from {{ ref('people') }}"
    )
    run = project.dbt("run", "--select", "coarse")
    (project.root / "models/coarse.sql").unlink()
    assert (
        'to: got "decade"; expected one of year, quarter, month, week, day, hour, or a number of characters. '
        "Correct it" in sentence(run.log)
    )
