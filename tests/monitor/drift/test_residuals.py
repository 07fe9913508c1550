from __future__ import annotations

import numpy as np
import pytest

from monitor.drift.observation import Observation
from monitor.drift.residuals import residuals, step_coefficients, steps


def answer(tokens: dict[bytes, float], expected: dict[str, list[float]], names: tuple[bytes, ...]) -> Observation:
    return Observation(
        item_key="a",
        rep=0,
        anchor=False,
        tokens=tuple(tokens),
        logprobs=np.array(list(tokens.values())),
        sampled=None,
        reference_tokens=names,
        expected={name: np.array(values) for name, values in expected.items()},
        prompt_tokens=None,
        expected_prompt_tokens=None,
        response_id=None,
    )


def test_residual_is_observed_minus_expected() -> None:
    seen = answer({b"a": -1.0, b"b": -2.0}, {"bf16": [-1.1, -2.5]}, (b"a", b"b"))
    assert residuals(seen, ["bf16"]).of("bf16").tolist() == pytest.approx([0.1, 0.5])
    assert residuals(seen, ["bf16"]).deviation("bf16") == pytest.approx(0.3)


def test_missing_token_contradicts_a_candidate_only_by_what_the_list_shows() -> None:
    seen = answer({b"a": -1.0, b"c": -3.0}, {"high": [-1.0, -2.0], "low": [-1.0, -4.0]}, (b"a", b"b"))
    assert residuals(seen, ["high"]).of("high")[1] == pytest.approx(-1.0)
    assert np.isnan(residuals(seen, ["low"]).of("low")[1])


def test_comparison_is_cut_to_as_many_tokens_as_the_answer_lists() -> None:
    seen = answer({b"a": -1.0}, {"bf16": [-1.0, -2.0, -3.0]}, (b"a", b"b", b"c"))
    assert residuals(seen, ["bf16"]).values.shape == (1, 1)


def test_other_model_without_a_common_token_is_far_away() -> None:
    seen = answer({b"x": -0.1, b"y": -9.0}, {"bf16": [-0.5, -1.5]}, (b"a", b"b"))
    assert residuals(seen, ["bf16"]).deviation("bf16") == pytest.approx(8.0)


def test_empty_answer_has_no_deviation() -> None:
    seen = answer({}, {"bf16": [-0.5]}, (b"a",))
    assert np.isnan(residuals(seen, ["bf16"]).deviation("bf16"))


def test_step_coefficient_is_nought_at_base_and_one_at_candidate() -> None:
    expected = {"bf16": [-1.0, -2.0, -3.0], "nf4": [-1.5, -1.5, -3.2]}
    names = (b"a", b"b", b"c")
    for stack, coefficient in (("bf16", 0.0), ("nf4", 1.0)):
        seen = answer(dict(zip(names, expected[stack], strict=True)), expected, names)
        towards = steps(seen, "bf16", ["nf4"], 3)
        assert step_coefficients(residuals(seen, ["bf16"]).of("bf16"), towards)[0] == pytest.approx(coefficient)


def test_step_coefficient_is_clipped_and_nought_without_a_step() -> None:
    residual = np.array([50.0, 0.0])
    assert step_coefficients(residual, np.array([[1.0, 0.0], [0.0, 0.0]])).tolist() == [3.0, 0.0]
