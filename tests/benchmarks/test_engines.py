"""Our engine and transformers under measurement, on a tiny model: all is asked of them that the tables hold."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from benchmarks.engines import further, measure, ours, transformers_peer
from benchmarks.engines.job import Job, Sizes
from benchmarks.engines.subject import NotOfferedError
from tests.reference_engine.tiny_models import TinyModel, write_gguf, write_tiny_model

SIZES = Sizes(
    prompt=12,
    new=3,
    prefill=32,
    scored=2,
    scored_tokens=16,
    top_k=5,
    sharing=3,
    shared=16,
    own=4,
    repetitive=6,
    repeats=1,
)
CELLS = ("decode_8", "prefill", "scoring", "ttft")


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> TinyModel:
    return write_tiny_model(tmp_path_factory.mktemp("tiny"), "llama")


@pytest.fixture(scope="module")
def model(tiny: TinyModel) -> Path:
    return write_gguf(tiny.folder / "tiny.gguf", tiny, "llama")


def job(model: Path, what: str = "figures", **options: str) -> Job:
    threads = torch.get_num_threads()
    return Job("unused", what, str(model), options, threads=threads, seed=1, sizes=SIZES, cells=CELLS)


def test_our_engine_has_every_figure_and_keeps_its_bits(model: Path) -> None:
    asked = job(model, profile="fp32")
    assert all(value is not None and value > 0 for value in measure.figures(ours.open_subject, asked).values())
    assert measure.same_bits(ours.open_subject, asked) == {"in a batch": "yes", "after a prefix": "yes"}


def test_our_engine_against_itself(tiny: TinyModel, model: Path) -> None:
    asked = job(model, profile="fp32")
    reused = further.prefix_reuse(ours.open_subject, asked)
    assert min(reused["cold"], reused["shared"]) > 0
    one, other = (further.repetitive(ours.open_subject, asked) for _ in range(2))
    assert one["rate"] > 0
    assert one["digest"] == other["digest"]
    held = further.memory(ours.open_subject, asked)
    assert 0 < held["counted"] <= held["float32"] * 2
    assert held["float32"] == sum(value.numel() for value in tiny.reference.parameters()) * 4


def test_our_engine_against_one_that_need_not_be_exact(model: Path) -> None:
    shares = further.exactness(ours.open_subject, job(model, profile="w8a8"))
    assert shares.keys() == set(CELLS)
    assert all(share > 0 for share in shares.values())


def test_an_option_that_our_engine_lacks_is_not_offered(model: Path) -> None:
    with pytest.raises(NotOfferedError, match="no swiftness"):
        ours.open_subject(job(model, profile="fp32", swiftness="high"))


def test_transformers_has_every_figure(model: Path) -> None:
    found = measure.figures(transformers_peer.open_subject, job(model))
    assert all(value is not None and value > 0 for value in found.values())


def test_a_peer_in_lockstep_gives_the_log_probabilities_of_the_likeliest(tiny: TinyModel, model: Path) -> None:
    peer = transformers_peer.open_subject(job(model))
    prompts = [list(range(30, 42)), list(range(50, 62))]
    for found, prompt in zip(peer.logprobs(prompts, 1), prompts, strict=True):
        expected = tiny.logprobs(prompt)[-1].topk(20)
        assert found[:20] == expected.indices.tolist()
        assert found[20:] == pytest.approx(expected.values.tolist(), abs=1e-4)
    resumed = peer.logprobs_after(prompts[0], 7, 3)
    assert resumed == pytest.approx(peer.logprobs(prompts[:1], 3)[0], abs=1e-4)
