"""`monitor drift consensus`: which of a model's endpoints differs from the others, told in a table and as JSON."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from monitor import clock
from monitor.consensus import ConsensusDocument
from monitor.store import Store
from tests.monitor.cli.commands import Monitor
from tests.monitor.store.beside import FP8, ONE_OF_FIVE, answered, fleet, hosted, private_texts, world

HOUR = timedelta(hours=1)
CONFIG = """
version: 1
models: { smol: {} }
providers: [ { slug: acme, base_url: "https://api.acme.test/v1", models: [ { model: smol, name: smol } ] } ]
"""


def test_the_one_that_differs_is_named_first_and_marked_in_the_table(monitor: Monitor, store: Store) -> None:
    fleet(store, ONE_OF_FIVE, clock.now() - HOUR, references=[1])

    ran = monitor("drift", "consensus", "--model", "smol")

    assert (ran.code, ran.err) == (0, "")
    first, head, *rows, note, care = ran.out.splitlines()
    assert first.startswith("smol: host-2 (smol) differs from the others by 0.1")
    assert head.split()[:4] == ["provider", "served", "as", "asked"]
    assert [(row.split()[0], "differs from the others" in row) for row in rows] == [
        (f"host-{place}", place == 2) for place in range(5)
    ]
    assert [row.split()[4] for row in rows] == ["10"] * 5
    assert note.startswith("Compared on 10 prompts that 5 providers answered")
    assert care.startswith("It is not said who is right")


def test_the_words_stay_careful_where_the_honest_one_is_the_outlier(monitor: Monitor, store: Store) -> None:
    fleet(store, [(), (FP8,), (FP8,), (FP8,), (FP8,)], clock.now() - HOUR)

    out = monitor("drift", "consensus", "--model", "smol").out

    assert "host-0 (smol) differs from the others" in out
    assert not {"wrong", "fraud", "fault", "bad", "DRIFT", "SUSPECT"} & set(out.split())


def test_camps_are_told_and_nobody_is_named(monitor: Monitor, store: Store) -> None:
    fleet(store, [(FP8,), (FP8,), (), (), ()], clock.now() - HOUR)

    ran = monitor("drift", "consensus", "--model", "smol")

    first, _, *rows = ran.out.splitlines()
    assert first.startswith("smol: Two camps differ from each other (host-2, host-3, host-4; host-0, host-1)")
    assert [" ".join(row.split()[-2:]) for row in rows[:5]] == ["camp 2", "camp 2", "camp 1", "camp 1", "camp 1"]


def test_as_json_it_is_the_document(monitor: Monitor, store: Store) -> None:
    endpoints = fleet(store, ONE_OF_FIVE, clock.now() - HOUR)

    document = monitor("drift", "consensus", "--model", "smol", "--json").document

    assert document["schema"] == "monitor.consensus/1"
    found = ConsensusDocument.model_validate(document)
    assert [each.endpoint_id for each in found.endpoints] == [endpoint.id for endpoint in endpoints]
    assert found.until - found.since == timedelta(hours=24)
    assert [each.finding for each in found.endpoints] == ["not_shown", "not_shown", "differs", "not_shown", "not_shown"]


@pytest.mark.parametrize("flags", [(), ("--json",)])
def test_three_endpoints_are_inapplicable_and_exit_4(monitor: Monitor, store: Store, flags: tuple[str, ...]) -> None:
    fleet(store, [()] * 3, clock.now() - HOUR)
    fleet(store, [(FP8,)] * 4, clock.now() - HOUR, model="large")

    ran = monitor("drift", "consensus", "--model", "smol", *flags)

    assert (ran.code, ran.err) == (4, "")
    assert "consensus is of 4 providers of one model at least, and these are 3" in ran.out
    assert "Add more providers of smol to the configuration" in ran.out


def test_runs_that_are_too_old_count_where_it_is_looked_further_back(monitor: Monitor, store: Store) -> None:
    fleet(store, [()] * 3, clock.now() - HOUR)
    (answers,) = world([()])
    answered(store, hosted(store, 3, clock.now()), answers, clock.now() - 30 * HOUR)

    near, far = (monitor("drift", "consensus", "--model", "smol", *flags) for flags in ((), ("--within", "2d")))

    assert (near.code, far.code) == (4, 0)
    assert "Have the others asked (host-3), or look further back." in near.out
    assert "it was not asked in this time" in near.out
    assert "4 providers answered" in far.out


def test_nothing_private_is_printed(monitor: Monitor, store: Store) -> None:
    fleet(store, ONE_OF_FIVE, clock.now() - HOUR, references=[0])

    out = [monitor("drift", "consensus", "--model", "smol", *flags).out for flags in ((), ("--json",))]

    assert [private for private in private_texts() if private in "".join(out)] == []


def test_a_model_that_is_only_configured_is_inapplicable(monitor: Monitor, folder: Path, data_dir: Path) -> None:
    (folder / "providers.yaml").write_text(CONFIG)

    ran = monitor("drift", "consensus", "--model", "smol")

    assert ran.code == 4
    assert "these are 0" in ran.out
    assert not data_dir.exists()


def test_an_unknown_model_is_a_mistake(monitor: Monitor, store: Store) -> None:
    hosted(store, 0, clock.now())

    ran = monitor("drift", "consensus", "--model", "smool")

    assert ran.code == 2
    assert "No model 'smool' is configured or was ever asked; did you mean 'smol'?" in ran.err


@pytest.mark.parametrize("within", ["yesterday", "0h", "-1h", "11000d"])
def test_what_is_no_time_is_a_mistake(monitor: Monitor, store: Store, within: str) -> None:
    hosted(store, 0, clock.now())

    ran = monitor("drift", "consensus", "--model", "smol", "--within", within)

    assert ran.code == 2
    assert f"--within '{within}' is not a time." in ran.err
