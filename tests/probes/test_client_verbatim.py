"""Bodies that are sent as they stand, and what a refusal of them is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

from probes.capabilities import Capabilities
from probes.errors import ProviderAuthError, ProviderQuotaError
from probes.plan import Item, Outcome, Plan, ProbeKind
from tests.endpoints import hostile
from tests.endpoints.lawful import Lawful
from tests.endpoints.server import ScriptedServer
from tests.probes.sending import item, plan, send, target

DEAF = Capabilities(token_limit_parameter="max_completion_tokens", unsupported=frozenset({"temperature"}))


def verbatim(number: int = 0, **request: object) -> Item:
    return replace(item(number, **request), verbatim=True)


def test_a_verbatim_body_is_not_adapted_and_its_own_fields_stand_above_the_configured_ones() -> None:
    with ScriptedServer(Lawful()) as server:
        pinned = target(server.base_url, extra_body={"temperature": 1, "provider": {"only": ["acme"]}})
        made = Plan(ProbeKind.PROTOCOL, (verbatim(temperature=-3, stream_options={}),), "0" * 64, "1")
        sample = send(pinned, made, capabilities=DEAF).only

    (received,) = server.received
    assert received.json == sample.request
    assert received.json == {
        **made.items[0].request,
        "model": "acme/lark-30b",
        "provider": {"only": ["acme"]},
    }


def test_a_refusal_of_a_verbatim_body_is_its_answer_and_teaches_nothing() -> None:
    refusing = hostile.picky(hostile.wants_no_temperature)
    with ScriptedServer(refusing) as server:
        made = plan(2)
        items = (*made.items[:1], *(verbatim(number) for number in range(2, 12)))
        answers = send(target(server.base_url), replace(made, items=items))

    plain, *refused = answers.samples
    assert plain.outcome is Outcome.OK  # adapted, as ever
    assert answers.error is None
    assert {sample.outcome for sample in refused} == {Outcome.REFUSED}
    assert all(sample.first_attempt_ok and len(sample.attempts) == 1 for sample in refused)
    assert all(sample.attempts[0].http_status == 400 and sample.attempts[0].body for sample in refused)
    assert answers.capabilities.unsupported == {"temperature"}


@pytest.mark.parametrize("status", [400, 404, 405, 413, 422])
def test_a_plan_of_refusals_alone_ends_in_good_order(status: int) -> None:
    with ScriptedServer(hostile.always(status, "No such thing.", content_type="text/plain")) as server:
        made = replace(plan(1), items=tuple(verbatim(number) for number in range(6)))
        answers = send(target(server.base_url), made)

    assert [sample.outcome for sample in answers.samples] == [Outcome.REFUSED] * 6


@pytest.mark.parametrize(
    ("status", "error"), [(401, ProviderAuthError), (402, ProviderQuotaError), (429, ProviderQuotaError)]
)
def test_what_is_said_of_the_account_is_no_answer(status: int, error: type[Exception]) -> None:
    with ScriptedServer(hostile.always(status, hostile.error("No."))) as server:
        answers = send(target(server.base_url), replace(plan(1), items=(verbatim(),)))

    assert isinstance(answers.failure, error)


@pytest.mark.parametrize("status", [408, 409, 425, 500, 503])
def test_a_server_in_trouble_has_not_refused(status: int) -> None:
    with ScriptedServer(hostile.always(status, hostile.error("temperature"))) as server:
        answers = send(target(server.base_url), replace(plan(1), items=(verbatim(),)))

    (sample,) = answers.samples
    assert sample.outcome is Outcome.HTTP_ERROR
    assert len(sample.attempts) == 3


def test_a_403_is_about_the_body_once_the_key_was_accepted() -> None:
    def forbids(request: Mapping[str, Any]) -> tuple[int, Any] | None:
        return (403, hostile.error("top_k is not allowed on your plan.")) if "top_k" in request else None

    made = plan(1)
    with ScriptedServer(hostile.picky(forbids)) as server:
        known = send(target(server.base_url), replace(made, items=(*made.items, verbatim(2, top_k=1))))
        unknown = send(target(server.base_url), replace(made, items=(verbatim(2, top_k=1),)))

    assert known.samples[1].outcome is Outcome.REFUSED
    assert isinstance(unknown.failure, ProviderAuthError)
