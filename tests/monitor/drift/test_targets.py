"""What can be detected, by name, and what is wrong with other names."""

from __future__ import annotations

import pytest

from monitor.drift.targets import ALIASES, FORMS, target_of


@pytest.mark.parametrize("form", FORMS)
def test_every_form_that_is_offered_is_understood(form: str) -> None:
    found = target_of(form, {})
    known = (found.shift, found.flips, found.mismatches, found.temperature, found.broken)
    assert any(one is not None for one in known)


@pytest.mark.parametrize(("alias", "profile"), ALIASES.items())
def test_usual_names_of_formats_are_profiles(alias: str, profile: str) -> None:
    assert target_of(alias, {}).shift == target_of(profile, {}).shift
    assert target_of(alias, {profile: 0.5}).shift == 0.5


def test_the_endpoints_own_reference_goes_before_a_small_model() -> None:
    of_small_model, own = target_of("int8", {}), target_of("int8", {"w8-channel": 0.02})
    assert (of_small_model.shift, own.shift) == (0.071, 0.02)
    assert own.flips == of_small_model.flips
    assert own.source != of_small_model.source


def test_a_profile_that_only_the_reference_knows_has_its_shift_alone() -> None:
    found = target_of("w8a8", {"w8a8": 0.09})
    assert (found.shift, found.flips) == (0.09, None)


def test_values_are_read() -> None:
    assert target_of("0.05nat", {}).shift == target_of("0.05 nat", {}).shift == 0.05
    assert target_of("schema=95%", {}).broken == pytest.approx(0.05)
    assert target_of("temperature=0.9", {}).temperature == 0.9
    some = target_of("swap=30%", {})
    assert (some.share, some.flips, some.shift) == (0.3, 0.3, target_of("swap", {}).shift)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("int9", "no change is known"),
        ("int8=3", "no change is known"),
        ("0nat", "above 0 nat"),
        ("schema=95", "a share"),
        ("schema=0%", "a share"),
        ("swap=101%", "a share"),
        ("temperature=hot", "is a number"),
        ("temperature=1", "other than 1"),
        ("temperature=nan", "from 0.05"),
        ("", "no change is known"),
    ],
)
def test_what_cannot_be_meant_is_said(text: str, what: str) -> None:
    with pytest.raises(ValueError, match=what):
        target_of(text, {})


def test_what_the_endpoint_may_run_is_nothing_to_detect() -> None:
    with pytest.raises(ValueError, match="nothing to detect"):
        target_of("bf16", {"bf16": 0.0})
