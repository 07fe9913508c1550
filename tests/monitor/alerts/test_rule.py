"""Rules: from the file or built in, which finding each takes, and when an edit counts."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from monitor.alerts.rule import BUILT_IN, Watch, fingerprint, rule_for, rules_for
from monitor.alerts.states import Severity
from monitor.config.service import Rule
from tests.monitor.alerts.signals import DRIFT, EVERY

LABELS = {"provider": "acme", "model": "smol", "tier": "prod"}
ACCOUNTING = {**LABELS, "metric": "accounting", "probe": "accounting"}


def test_without_a_file_the_built_in_rules_hold() -> None:
    rules = rules_for((), LABELS, timedelta(hours=1))

    assert [(rule.id, rule.severity) for rule in rules] == [
        ("drift", Severity.CRITICAL),
        ("availability", Severity.WARNING),
        ("no-data", Severity.WARNING),
    ]
    assert {rule.every for rule in rules} == {timedelta(hours=1)}


def test_the_first_rule_that_fits_takes_a_finding_and_the_built_in_one_the_rest() -> None:
    counts = Rule(id="counts", match={"probe": "acc*"}, severity="warning", clear_for=5)
    rules = rules_for([counts, Rule(id="all-prod", match={"tier": "prod"})], LABELS, EVERY)

    taken = rule_for(rules, Watch.DRIFT, ACCOUNTING)
    assert taken is not None
    assert (taken.id, taken.severity, taken.clear_for) == ("counts", Severity.WARNING, 5)
    assert getattr(rule_for(rules, Watch.DRIFT, LABELS), "id", None) == "all-prod"
    assert getattr(rule_for(rules, Watch.DRIFT, {"tier": "dev"}), "id", None) == "drift"
    assert getattr(rule_for(rules, Watch.NO_DATA, LABELS), "id", None) == "no-data"


def test_a_rule_named_like_a_built_in_one_takes_its_place() -> None:
    rules = rules_for([Rule(id="availability", severity="critical", error_after=5)], LABELS, EVERY)

    found = [rule for rule in rules if rule.watches is Watch.AVAILABILITY]
    assert [(rule.severity, rule.error_after) for rule in found] == [(Severity.CRITICAL, 5)]


def test_a_rule_that_is_off_leaves_its_findings_to_the_others_and_a_built_in_one_can_be_put_off() -> None:
    rules = rules_for([Rule(id="mine", enabled=False), Rule(id="no-data", enabled=False)], LABELS, EVERY)

    assert [rule.id for rule in rules] == ["drift", "availability"]


def test_limits_of_failure_and_silence_come_from_the_rule_that_fits_the_endpoint() -> None:
    configured = [
        Rule(id="dev", match={"tier": "dev"}, error_after=9),
        Rule(id="prod", match={"tier": "prod"}, error_after=1, no_data_after=8),
    ]

    rules = {rule.id: rule for rule in rules_for(configured, LABELS, EVERY)}

    assert rules["availability"].error_after == 1
    assert rules["no-data"].no_data_after == 8


def test_an_edit_counts_where_it_changes_when_an_alert_fires_or_clears() -> None:
    assert replace(DRIFT, clear_for=4).digest != DRIFT.digest
    assert replace(DRIFT, match={"tier": "prod"}).digest != DRIFT.digest
    assert replace(DRIFT, severity=Severity.INFO, every=timedelta(days=1)).digest == DRIFT.digest


def test_fingerprints_tell_apart_what_are_two_alerts() -> None:
    prints = [
        fingerprint(rule, endpoint, metric)
        for rule in ("drift", "mine")
        for endpoint in ("ep_1", "ep_2", None)
        for metric in ("logprobs", "")
    ]

    assert len(set(prints)) == len(prints)
    assert len({rule.id for rule in BUILT_IN}) == len(BUILT_IN)
