from __future__ import annotations

from pathlib import Path

import pytest

from reference_engine import load_engine
from reference_engine.native.build import INSTRUCTION_SETS, KernelsUnavailableError, built
from tests.reference_engine.tiny_models import TinyModel

AVX2 = INSTRUCTION_SETS[-1]


@pytest.fixture
def without_compiler(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CXX", "no-such-compiler")


@pytest.mark.usefixtures("without_compiler")
def test_a_compiler_that_is_not_there_is_named() -> None:
    with pytest.raises(KernelsUnavailableError, match="'no-such-compiler'") as raised:
        built(AVX2)
    assert "CXX" in str(raised.value.remedy)


def test_a_compiler_that_fails_is_quoted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\necho 'out of memory' >&2\nexit 1\n")
    compiler.chmod(0o755)
    monkeypatch.setenv("CXX", str(compiler))
    monkeypatch.setenv("REFERENCE_ENGINE_CACHE", str(tmp_path / "cache"))

    with pytest.raises(KernelsUnavailableError, match="out of memory"):
        built(AVX2)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_cache_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("CXX", "/bin/true")
    monkeypatch.setenv("REFERENCE_ENGINE_CACHE", str(tmp_path / "file" / "cache"))

    with pytest.raises(KernelsUnavailableError, match="file/cache") as raised:
        built(AVX2)
    assert "REFERENCE_ENGINE_CACHE" in str(raised.value.remedy)


@pytest.mark.usefixtures("without_compiler")
def test_without_kernels_torch_gives_the_same_to_a_few_millionths(
    tiny_llama: TinyModel, caplog: pytest.LogCaptureFixture
) -> None:
    ids = list(range(2, 60))
    by_torch = load_engine(tiny_llama.folder)

    scored = by_torch.score(ids, top_k=3)

    by_torch.close()
    assert "torch computes in place of the kernels" in caplog.text
    expected = tiny_llama.logprobs(ids)
    for position in scored.positions[1:]:
        for token_id, logprob in position.top:
            assert abs(expected[position.index - 1, token_id] - logprob) < 1e-4
