"""`monitor plan`: the verdict first, what it takes, and lines that the configuration takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitor.config import load_config
from monitor.config.times import parse_duration
from monitor.store import Enrol, Store
from tests.monitor.cli.commands import Monitor, Ran
from tests.monitor.drift.synthetic import World
from tests.monitor.store.material import AT, finished_run, identity, result

CONFIG = """\
version: 1
models: { smol: {}, large-1.5: {} }
providers:
  - slug: acme
    base_url: https://api.acme.test/v1
    models:
      - { model: smol, name: smol, prices: { input_usd_per_mtok: 3, output_usd_per_mtok: 12 } }
      - { model: large-1.5, name: large }
"""


@pytest.fixture(autouse=True)
def config(folder: Path) -> Path:
    (folder / "providers.yaml").write_text(CONFIG)
    return folder / "providers.yaml"


@pytest.fixture
def store(data_dir: Path) -> Iterator[Store]:
    data_dir.mkdir()
    with Store.open(data_dir / "monitor.db", at=AT) as opened:
        yield opened


def planned(monitor: Monitor, *options: str, detect: str = "int8", within: str = "6h", model: str = "smol") -> Ran:
    return monitor("plan", "--provider", "acme", "--model", model, "--detect", detect, "--within", within, *options)


def document(monitor: Monitor, *options: str, **more: str) -> Any:
    ran = planned(monitor, "--json", *options, **more)
    assert (ran.code, ran.err) == (0, "")
    return ran.document


def enrol(store: Store, noise: float, *, logprobs: bool = True) -> None:
    observations = World(0, noise).run("bf16")
    if not logprobs:
        observations = [replace(one, tokens=(), logprobs=one.logprobs[:0]) for one in observations]
    endpoint = store.ensure_endpoint(identity(), at=AT)
    finished_run(store, endpoint.id, outcome=replace(result(baseline=Enrol()), observations=observations))


def test_the_verdict_comes_first_then_what_it_takes_and_the_schedule(monitor: Monitor, config: Path) -> None:
    ran = planned(monitor)

    assert (ran.code, ran.err) == (0, "")
    first, verdict, cost, *_ = ran.out.splitlines()
    assert first.startswith("acme / smol: within 6 h")
    assert verdict.startswith("int8: by T1 log-probabilities, ")
    assert cost.startswith("Together $")
    assert "taken for granted: noise" in ran.out
    added = ran.out[ran.out.index("schedules:") :]
    config.write_text(CONFIG + added)
    loaded = load_config(config)
    schedule = loaded.schedule_of(loaded.endpoints("acme", "smol")[0])
    assert schedule.id == "plan-acme-smol"
    assert schedule.probes == ("logprobs", "accounting")
    assert loaded.schedule_of(loaded.endpoints("acme", "large-1.5")[0]).id == "default"


def test_json_holds_the_plan_and_its_schedule_costs_what_is_said(monitor: Monitor) -> None:
    found = document(monitor)

    assert found["schema"] == "monitor.plan/1"
    assert found["reached"] is True
    (chosen,), (option,), schedule = found["chosen"], found["options"], found["schedule"]
    assert option["power_hours"] <= 6.0
    assert chosen["requests"] == schedule["n"]
    assert parse_duration(schedule["every"]) * chosen["rounds_a_day"] == 86_400
    cost = found["cost"]
    assert cost["requests_a_day"] == chosen["rounds_a_day"] * chosen["requests"]
    assert cost["usd_a_day"] == pytest.approx((cost["tokens_in_a_day"] * 3 + cost["tokens_out_a_day"] * 12) / 1e6)
    assert cost["usd_a_year"] == pytest.approx(365 * cost["usd_a_day"])


def test_the_same_question_has_the_same_answer(monitor: Monitor) -> None:
    assert planned(monitor).out == planned(monitor).out


def test_a_change_below_the_noise_is_said_to_be_with_what_would_be_seen(monitor: Monitor) -> None:
    found = document(monitor, detect="bf16-weights")

    assert (found["reached"], found["chosen"], found["cost"], found["schedule"]) == (False, [], None, None)
    said = planned(monitor, detect="bf16-weights").out.splitlines()[1]
    assert said.startswith("bf16-weights: not within 6 h at any rate: ")
    assert said.endswith(f"{found['options'][0]['smallest_nats']:g} nat would be")
    assert "schedules:" not in planned(monitor, detect="bf16-weights").out


def test_what_is_not_reached_in_time_says_when_it_would_be(monitor: Monitor) -> None:
    said = planned(monitor, within="30m").out.splitlines()[1]
    assert said.startswith("int8: not within 30 min: ")
    assert " takes " in said


def test_noise_of_the_endpoints_own_runs_is_planned_with(monitor: Monitor, store: Store) -> None:
    before = document(monitor)
    enrol(store, 0.06)
    after = document(monitor)

    assert before["noise"]["deviation"] == 0.03
    assert after["noise"]["deviation"] == pytest.approx(0.06, rel=0.2)
    assert after["cost"]["usd_a_year"] > before["cost"]["usd_a_year"]
    assert any("no enrolled run" in one for one in before["assumed"])
    assert not any("no enrolled run" in one for one in after["assumed"])


def test_without_log_probabilities_border_inputs_are_planned(monitor: Monitor, store: Store) -> None:
    enrol(store, 0.03, logprobs=False)
    found = document(monitor, detect="swap", within="1d")

    assert [option["tier"] for option in found["options"]] == ["T2"]
    assert found["reached"] is True
    (chosen,) = found["chosen"]
    assert (found["schedule"]["probes"], found["schedule"]["n"]) == (["border"], chosen["requests"])
    assert found["options"][0]["ready_days"] > 14.0
    assert "probes:\n  - border\n" in planned(monitor, detect="swap", within="1d").out


def test_several_changes_are_planned_for_at_once(monitor: Monitor) -> None:
    found = document(monitor, "--detect", "schema=80%", within="2d")

    assert {one["tier"] for one in found["chosen"]} == {"T1", "T6"}
    assert set(found["schedule"]["probes"]) == {"logprobs", "accounting", "tool_calls"}
    (rounds,) = {one["rounds_a_day"] for one in found["chosen"]}
    assert found["cost"]["requests_a_day"] == rounds * sum(one["requests"] for one in found["chosen"])


def test_without_prices_nothing_is_said_of_dollars(monitor: Monitor) -> None:
    found = document(monitor, model="large-1.5")

    assert found["reached"] is True
    assert found["cost"]["usd_a_year"] is None
    out = planned(monitor, model="large-1.5").out
    assert "$" not in out.splitlines()[2]
    assert "taken for granted: prices" in out
    assert yaml.safe_load(out[out.index("schedules:") :])["schedules"][0]["match"]["model"] == "large-1.5"


def test_a_budget_that_it_would_break_is_named(monitor: Monitor, config: Path) -> None:
    assert "over budget" not in planned(monitor).out
    config.write_text(CONFIG + "defaults: { daily_budget_usd: 0.001 }\n")
    assert "over budget: a day may cost $0.001" in planned(monitor).out


def test_what_no_tier_sees_is_said(monitor: Monitor, store: Store) -> None:
    enrol(store, 0.03, logprobs=False)
    said = planned(monitor, detect="temperature=0.9").out.splitlines()[1]
    assert said == "temperature=0.9: no tier that this endpoint supports is known to see it"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"detect": "int9"}, "did you mean 'int"),
        ({"detect": "swap=200%"}, "a share is above 0 %"),
        ({"within": "soon"}, "--within 'soon' is not a time"),
        ({"within": "60d"}, "an epoch has 30 days"),
        ({"model": "smoll"}, "did you mean 'smol'"),
    ],
)
def test_wrong_values_are_named_with_what_would_be_right(
    monitor: Monitor, options: dict[str, str], message: str
) -> None:
    ran = planned(monitor, **options)

    assert ran.code == 2
    assert message in ran.err


@pytest.mark.parametrize("options", [("--alpha", "0.5"), ("--power", "1")])
def test_numbers_that_cannot_be_meant_are_refused(monitor: Monitor, options: tuple[str, str]) -> None:
    ran = planned(monitor, *options)

    assert ran.code == 2
    assert "--alpha 1e-6 to 0.1, --power 0.5 to 0.99" in ran.err


def test_an_unknown_provider_and_a_missing_option_are_named(monitor: Monitor) -> None:
    unknown = monitor("plan", "--provider", "amce", "--detect", "int8", "--within", "6h")
    assert (unknown.code, "did you mean 'acme'?" in unknown.err) == (2, True)
    several = monitor("plan", "--provider", "acme", "--detect", "int8", "--within", "6h")
    assert (several.code, "several models" in several.err) == (2, True)
    assert monitor("plan", "--provider", "acme", "--within", "6h").code == 2


def test_nothing_is_left_behind(monitor: Monitor, folder: Path) -> None:
    planned(monitor)
    assert sorted(path.name for path in folder.iterdir()) == ["providers.yaml"]
