"""What a plan learns from enrolled runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from monitor.check.enrolled import TEMPLATE, distances, enrolled
from monitor.config import EndpointConfig, load_config
from monitor.drift.observation import Observation
from monitor.store import Enrol, Store
from tests.monitor.drift.synthetic import SIZES, World
from tests.monitor.store.material import AT, finished_run, identity, result

CONFIG = """\
version: 1
models: { smol: { reference: { weights: bundled, allowed_profiles: [bf16] } } }
providers:
  - slug: acme
    base_url: https://api.acme.test/v1
    models: [ { model: smol, name: smol } ]
"""


@pytest.fixture
def endpoint(tmp_path: Path) -> EndpointConfig:
    (tmp_path / "providers.yaml").write_text(CONFIG)
    return load_config(tmp_path / "providers.yaml").endpoints("acme")[0]


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "monitor.db", at=AT) as opened:
        yield opened


def enrol(store: Store, observations: Sequence[Observation], served: str = "smol") -> None:
    known = store.ensure_endpoint(identity(served_name=served), at=AT)
    finished_run(store, known.id, AT, outcome=replace(result(baseline=Enrol()), observations=observations))


def test_noise_and_distances_are_those_of_the_baseline(store: Store, endpoint: EndpointConfig) -> None:
    enrol(store, World(0, 0.05).run("bf16", anchors=30))
    found = enrolled(store, endpoint)
    assert found.noise is not None
    assert found.noise.deviation == pytest.approx(0.05, rel=0.2)
    assert found.logprobs is True
    assert (found.days, found.knows_days) == (1, False)
    assert found.distances["w8-channel"] == pytest.approx(SIZES["w8-channel"], rel=0.5)
    assert found.distances["bf16"] == 0.0
    assert found.distances[TEMPLATE] > 0.0


def test_an_endpoint_without_log_probabilities_is_known(store: Store, endpoint: EndpointConfig) -> None:
    bare = [replace(one, tokens=(), logprobs=one.logprobs[:0]) for one in World(0).run("bf16")]
    enrol(store, bare)
    found = enrolled(store, endpoint)
    assert found.logprobs is False
    assert found.noise is None


def test_another_endpoint_of_the_same_model_says_nothing(store: Store, endpoint: EndpointConfig) -> None:
    enrol(store, World(0).run("bf16"), served="another")
    for found in (enrolled(store, endpoint), enrolled(None, endpoint)):
        assert (found.noise, found.logprobs, found.distances) == (None, None, {"bf16": 0.0})


def test_distances_are_to_the_nearest_allowed_profile() -> None:
    observations = World(0).run("bf16")
    one, two = distances(observations, ["bf16"]), distances(observations, ["bf16", "fp32"])
    assert set(one) == {*SIZES} - {"system-prompt:none"} | {TEMPLATE}
    assert all(two[name] <= one[name] for name in one)
    assert two["fp32"] == 0.0 < one["fp32"]
    assert distances(observations, []) == {}
