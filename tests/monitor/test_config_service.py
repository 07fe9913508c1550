"""The sections of the file that make the service run by itself: what they may say, and what each mistake is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.config import Config, inspect_config, load_config
from monitor.config.presence import hints, missing_references

PROVIDERS = """\
version: 1
models: { smol: }
providers:
  - slug: acme
    base_url: https://api.acme.ai/v1
    models: [ { model: smol, name: smol, labels: { tier: prod } } ]
  - slug: bolt
    base_url: https://api.bolt.ai/v1
    models: [ { model: smol, name: smol } ]
"""

OPS = '{ id: ops, url: "${env:OPS_HOOK}", secret: "${env:OPS_SECRET}" }'
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"  # pragma: allowlist secret


def write(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "providers.yaml"
    path.write_text(text)
    return path


def load(tmp_path: Path, *lines: str) -> Config:
    return load_config(write(tmp_path, PROVIDERS + "\n".join(lines)))


# Each row: a section (line 10 of the file), the problem's key, and what is said of it.
MISTAKES = [
    ("schedules: [ { id: a } ]", "schedules[0]", "needs every or cron"),
    ("schedules: [ { id: a, every: 1h, n: 3 } ]", "schedules[0].n", "of logprobs and accounting is 4 at least"),
    ("schedules: [ { id: a, every: 1h, n: 0, probes: [border] } ]", "schedules[0].n", "greater than or equal to 1"),
    ('schedules: [ { id: a, every: 1h, cron: "0 3 * * *" } ]', "schedules[0].cron", "is set beside every; keep one"),
    ("schedules: [ { id: a, every: 1h, tz: UTC } ]", "schedules[0].tz", "needs cron"),
    ('schedules: [ { id: a, cron: "0 3 * * *", jitter: 0.1 } ]', "schedules[0].jitter", "needs every"),
    ("schedules: [ { id: a, every: 1h, evry: 1h } ]", "schedules[0].evry", "did you mean 'every'?"),
    ("schedules: [ { id: a, every: 11y } ]", "schedules[0].every", "duration"),
    ("schedules: [ { id: a, every: 4000d } ]", "schedules[0].every", "at most ten years"),
    ('schedules: [ { id: a, cron: "0 3 * *" } ]', "schedules[0].cron", "must have five fields"),
    ('schedules: [ { id: a, cron: "0 25 * * *" } ]', "schedules[0].cron", "is not a cron expression: Bad hour"),
    ('schedules: [ { id: a, cron: "0 3 * * *", tz: Europe/Berln } ]', "schedules[0].tz", "'Europe/Berlin'"),
    ("schedules: [ { id: a, every: 1h, jitter: 60% } ]", "schedules[0].jitter", "less than or equal to 0.5"),
    ("schedules: [ { id: a, every: 1h, probes: [logprops] } ]", "schedules[0].probes[0]", "'logprobs'"),
    ("schedules: [ { id: a, every: 1h, load: { rate: 101 } } ]", "schedules[0].load.rate", "less than or equal to 100"),
    ("schedules: [ { id: a, every: 1h, load: { sizes: [] } } ]", "schedules[0].load.sizes", ""),
    ("schedules: [ { id: a, every: 1h, probes: [logprobs], load: {} } ]", "schedules[0].load", "needs latency"),
    ("schedules: [ { id: a, every: 1h, match: { tier: 1 } } ]", "schedules[0].match.tier", "put it in quotes"),
    ("schedules: [ { id: a, every: 1h }, { id: a, every: 1h } ]", "schedules[1].id", "is taken"),
    ("schedules: [ { id: default, every: 1h } ]", "schedules[0].id", "the schedule that defaults make"),
    ("schedules: [ { every: 1h } ]", "schedules[0].id", "is required and missing"),
    ("rules: [ { id: a, severity: loud } ]", "rules[0].severity", "must be 'info'"),
    ("rules: [ { id: a, clear_for: 0 } ]", "rules[0].clear_for", "greater than or equal to 1"),
    ("channels: [ { id: a, url: https://a.example/x } ]", "channels[0]", "needs secret"),
    ("channels: [ { id: a, url: https://a.example/x, secret: whsec_x } ]", "channels[0].secret", "${env:NAME}"),
    ("channels: [ { id: a, format: slack, url: https://hooks.slack.com/T/x } ]", "channels[0].url", "credential"),
    ("channels: [ { id: a, format: slack, url: https://u:p@a.example } ]", "channels[0].url", "holds a credential"),
    ("channels: [ { id: a, format: slack, url: 'https://a.example?token=x' } ]", "channels[0].url", "credential"),
    ("channels: [ { id: a, format: slack, url: ftp://a.example } ]", "channels[0].url", "must be https://"),
    ("channels: [ { id: a, format: slack, url: http://10.0.0.1/x } ]", "channels[0].url", "allow_private: true"),
    ("channels: [ { id: a, format: slack, url: 'x y' } ]", "channels[0].url", "a URL cannot hold"),
    ("channels: [ { id: a, kind: apprise, url: https://a.example } ]", "channels[0].url", "holds a credential"),
    ('channels: [ { id: a, kind: apprise, url: "${env:A}", format: slack } ]', "channels[0].format", "has none"),
    (f"channels: [ {OPS.replace('secret', 'previous_secret')} ]", "channels[0].previous_secret", "needs secret"),
    (f"channels: [ {OPS[:-1]}, events: [alert.fired] }} ]", "channels[0].events[0]", "did you mean 'alert.firing'?"),
    ("routes: [ { id: a, to: [ops] } ]", "routes[0].to[0]", "is not among the channels; there is none yet"),
    (f"channels: [ {OPS} ]\nroutes: [ {{ id: a, to: [opps] }} ]", "routes[0].to[0]", "did you mean 'ops'?"),
    (f"channels: [ {OPS} ]\nroutes: [ {{ id: a, to: [ops, ops] }} ]", "routes[0].to[1]", "is there twice"),
    (f"channels: [ {OPS}, {OPS} ]", "channels[1].id", "is taken"),
    ("maintenance: [ { id: a, duration: 1h } ]", "maintenance[0]", "needs starts or rrule"),
    ("maintenance: [ { id: a, rrule: FREQ=MINUTELY, duration: 1h } ]", "maintenance[0].rrule", "must begin with FREQ="),
    ("maintenance: [ { id: a, rrule: every sunday, duration: 1h } ]", "maintenance[0].rrule", "RFC 5545"),
    ("maintenance: [ { id: a, rrule: FREQ=DAILY;BYDAY=XX, duration: 1h } ]", "maintenance[0].rrule", "RFC 5545"),
    ("maintenance: [ { id: a, rrule: FREQ=DAILY;COUNT=3, duration: 1h } ]", "maintenance[0].rrule", "needs starts"),
    ("maintenance: [ { id: a, rrule: FREQ=YEARLY;BYYEARDAY=400, duration: 1h } ]", "maintenance[0].rrule", "never"),
    ("maintenance: [ { id: a, starts: 2026-12-01, duration: 1h } ]", "maintenance[0].starts", "2026-12-01T02:00"),
    ("maintenance: [ { id: a, starts: 2026-12-01T02:00Z, duration: 1h } ]", "maintenance[0].starts", "in tz"),
    ("retention: { bodies: forever }", "retention.bodies", "duration"),
    ("defaults: { daily_budget_usd: 0 }", "defaults.daily_budget_usd", "greater than 0"),
]  # fmt: skip


@pytest.mark.parametrize(("section", "key", "said"), MISTAKES)
def test_a_mistake_is_named_with_line_key_and_remedy(tmp_path: Path, section: str, key: str, said: str) -> None:
    problems = inspect_config(write(tmp_path, PROVIDERS + section)).problems

    line = 10 + section[: section.find("routes:")].count("\n") if "routes:" in section else 10
    found = [problem for problem in problems if (problem.line, problem.key) == (line, key)]
    assert any(said in problem.message for problem in found), problems


def test_a_secret_address_is_not_repeated(tmp_path: Path) -> None:
    path = write(tmp_path, PROVIDERS + "channels: [ { id: a, url: https://hooks.slack.com/services/canary } ]")

    assert "canary" not in repr(inspect_config(path))


def test_the_first_schedule_that_matches_is_the_one(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        "schedules:",
        "  - { id: prod, match: { tier: pr* }, every: 5m }",
        "  - { id: bolt, match: { provider: bolt, model: smol }, cron: '0 3 * * *', tz: Europe/Berlin }",
        "  - { id: rest, every: 1d }",
    )

    assert [config.schedule_of(endpoint).id for endpoint in config.all_endpoints()] == ["prod", "bolt"]


def test_an_endpoint_that_no_schedule_matches_is_checked_as_the_defaults_say(tmp_path: Path) -> None:
    config = load(tmp_path, "defaults: { every: 1h, jitter: 5%, catch_up: once }")

    schedule = config.schedule_of(config.all_endpoints()[0])

    assert (schedule.id, schedule.every, schedule.jitter, schedule.catch_up) == ("default", 3600.0, 0.05, "once")


def test_a_schedule_takes_over_what_it_does_not_set(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        "defaults: { jitter: 5%, catch_up: once }",
        "schedules:",
        "  - { id: a, match: { provider: acme }, every: 5m, jitter: 0.3 }",
        "  - { id: b, every: 5m, catch_up: skip }",
    )

    first, second = (config.schedule_of(endpoint) for endpoint in config.all_endpoints())

    assert (first.jitter, first.catch_up) == (0.3, "once")
    assert (second.jitter, second.catch_up) == (0.05, "skip")


def test_a_disabled_provider_is_on_no_schedule_and_can_be_asked_by_hand(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, PROVIDERS.replace("slug: acme", "slug: acme\n    enabled: false")))

    assert [endpoint.provider for endpoint in config.all_endpoints()] == ["bolt"]
    assert config.endpoints("acme")


def test_a_budget_is_the_providers_or_the_defaults(tmp_path: Path) -> None:
    text = PROVIDERS.replace("slug: acme", "slug: acme\n    daily_budget_usd: 0.25")

    config = load_config(write(tmp_path, f"{text}defaults: {{ daily_budget_usd: 2 }}\n"))

    assert config.daily_budget_microusd("acme") == 250_000
    assert config.daily_budget_microusd("bolt") == 2_000_000


def test_an_endpoint_without_a_budget_has_no_limit(tmp_path: Path) -> None:
    assert load(tmp_path).daily_budget_microusd("acme") is None


def test_labels_do_not_hide_provider_and_model(tmp_path: Path) -> None:
    text = PROVIDERS.replace("tier: prod", "tier: prod, provider: other")

    (endpoint, *_) = load_config(write(tmp_path, text)).all_endpoints()

    assert endpoint.matching_labels == {"tier": "prod", "provider": "acme", "model": "smol"}


def test_what_a_channel_refers_to_is_looked_for(tmp_path: Path) -> None:
    config = load(tmp_path, f"channels: [ {OPS} ]")

    unset = missing_references(config, {})
    wrong = missing_references(config, {"OPS_HOOK": "mailto:canary", "OPS_SECRET": "canary"})
    right = missing_references(config, {"OPS_HOOK": "https://a.example", "OPS_SECRET": SECRET})

    assert [problem.key for problem in unset] == ["channels[0].url", "channels[0].secret"]
    assert [problem.key for problem in wrong] == ["channels[0].url", "channels[0].secret"]
    assert "canary" not in repr(wrong)
    assert right == []


def test_labels_that_match_nothing_are_noted(tmp_path: Path) -> None:
    config = load(
        tmp_path,
        "schedules: [ { id: a, match: { teir: prod, provider: acm }, every: 1h } ]",
        "rules: [ { id: a, match: { probe: logprobs, metric: x, provider: a* } } ]",
    )

    assert [(note.line, note.key, note.message) for note in hints(config)] == [
        (10, "schedules[0].match.teir", "no endpoint has this label; did you mean 'tier'?"),
        (10, "schedules[0].match.provider", "there is no provider 'acm'; did you mean 'acme'?"),
    ]


def test_a_file_without_providers_is_valid_and_noted(tmp_path: Path) -> None:
    config = load_config(write(tmp_path, "version: 1\n"))

    assert [note.message for note in hints(config)] == ["there is none that is enabled, so nothing is monitored yet"]
