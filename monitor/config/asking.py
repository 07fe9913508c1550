"""How long it takes to ask all that a schedule wants of an endpoint, at the rate that its provider allows."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from monitor.config.endpoint import EndpointConfig
    from monitor.config.load import Config
    from monitor.config.problems import KeyPath
    from monitor.config.service import Schedule, StreamLoad

# Of one check: a worker is left two minutes to judge the answers before Celery ends it.
LONGEST_ASKING_S = 420.0
# Single-token requests of a check that reads log-probabilities or token counts.
LEAST_N = 4
# Twelve counts against twelve are the fewest that can prove a change; a few more outlive lost answers.
LADDER = 16
# The latency probe's own budget: a median with an interval, and fifteen gaps a stream.
STREAMS = 8
# Of streams under load: how many a second, how many of each size of prompts, and how long these are, at most.
MOST_PER_SECOND = 100.0
MOST_STREAMS = 1_000
MOST_PROMPT_TOKENS = 200_000
# An eighth of the tool-call cases, with their repeats, twins and replays.
TOOL_CALLS = 230
# A light run: the experiments, the ladder, the streams, the replays, and the ways to ask for log-probabilities.
PROTOCOL = 103
# Every turn of the scripted arm, and each exercise plain and streamed on its shortest way.
AGENT_LOOPS = 315

# Four questions, 25 times each, and twice at another temperature.
SAMPLING = 108

# Questions that are answered at some length.
GREEDY = 20


def asking_hints(config: Config) -> Iterator[tuple[KeyPath, str]]:
    """A note for each endpoint whose checks are cut off, so that they never enrol."""
    for index, provider in enumerate(config.file.providers):
        for endpoint in config.endpoints(provider.slug) if provider.enabled else ():
            schedule = config.schedule_of(endpoint)
            seconds = 0.0 if endpoint.rpm is None else (_requests(schedule) - 1) * 60 / endpoint.rpm
            if seconds > LONGEST_ASKING_S:
                yield (
                    ("providers", index),
                    f"at {endpoint.rpm} requests a minute a check of {endpoint.model} by schedule '{schedule.id}' takes"
                    f" {seconds:.0f} s; after {LONGEST_ASKING_S:.0f} s it is cut off and makes no baseline:"
                    " lower the schedule's n, or raise rpm",
                )
            yield from _reference_hints(endpoint, schedule, ("providers", index))
            if schedule.load is not None and (seconds := _under_load(schedule.load)) > LONGEST_ASKING_S:
                yield (
                    ("providers", index),
                    f"the load of schedule '{schedule.id}' takes {seconds:.0f} s; a check of {endpoint.model} is cut"
                    f" off after {LONGEST_ASKING_S:.0f} s: lower its streams, or raise its rate",
                )


def _reference_hints(endpoint: EndpointConfig, schedule: Schedule, path: KeyPath) -> Iterator[tuple[KeyPath, str]]:
    """Where a reference that is another endpoint is still behind when a check ends."""
    reference = None if endpoint.reference is None else endpoint.reference.endpoint
    if reference is None or reference.rpm is None:
        return
    seconds = (_beside(schedule) - 1) * 60 / reference.rpm
    if seconds > LONGEST_ASKING_S:
        yield (
            path,
            f"at {reference.rpm} requests a minute the reference {reference.slug} takes {seconds:.0f} s for a check by"
            f" schedule '{schedule.id}'; what it has not answered after {LONGEST_ASKING_S:.0f} s is hardly compared:"
            " lower the schedule's n, or raise rpm there",
        )


def _under_load(load: StreamLoad) -> float:
    return load.streams * len(load.sizes) / load.rate


def _beside(schedule: Schedule) -> int:
    """Of the requests those that a reference is asked as well."""
    alone = {
        "latency": STREAMS,
        "protocol": PROTOCOL,
        "sampling": SAMPLING,
        "greedy": GREEDY,
        "border": schedule.n,
    }
    return _requests(schedule) - sum(requests for probe, requests in alone.items() if probe in schedule.probes)


def _requests(schedule: Schedule) -> int:
    asked = set(schedule.probes)
    tokens = schedule.n if "logprobs" in asked else min(schedule.n, LADDER) if "accounting" in asked else 0
    others = {
        "latency": STREAMS,
        "tool_calls": TOOL_CALLS,
        "protocol": PROTOCOL,
        "agent_loops": AGENT_LOOPS,
        "sampling": SAMPLING,
        "greedy": GREEDY,
        # Once they are found; while they are looked for a check asks as many as fit into its time.
        "border": schedule.n,
    }
    return tokens + sum(requests for probe, requests in others.items() if probe in asked)
