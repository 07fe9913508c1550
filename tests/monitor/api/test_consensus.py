"""The consensus of a model's endpoints over HTTP: the document of `monitor drift consensus`, for whoever may read."""

from __future__ import annotations

from datetime import timedelta

import pytest

from monitor import clock
from monitor.consensus import ConsensusDocument, ConsensusFinding
from tests.monitor.api.served import Api, assert_problem
from tests.monitor.api.test_resources import configure
from tests.monitor.store.beside import FP8, ONE_OF_FIVE, answered, fleet, hosted, private_texts, world

HOUR = timedelta(hours=1)
PATH = "/api/v1/models/smol/consensus"


def document(api: Api, query: str = "") -> ConsensusDocument:
    answer = api.as_("read").get(PATH + query)
    assert answer.status_code == 200, answer.text
    return ConsensusDocument.model_validate(answer.json())


def test_the_one_that_differs_is_named(each_api: Api) -> None:
    endpoints = fleet(each_api.store, ONE_OF_FIVE, clock.now() - HOUR, references=[3])

    found = document(each_api)

    assert found.finding is ConsensusFinding.DIFFERS
    assert [(each.endpoint_id, each.finding.value) for each in found.endpoints] == [
        (endpoint.id, "differs" if place == 2 else "not_shown") for place, endpoint in enumerate(endpoints)
    ]
    assert (found.prompts, found.providers) == (10, 5)
    assert found.until - found.since == timedelta(hours=24)


def test_where_most_run_fp8_the_honest_one_differs_in_careful_words(api: Api) -> None:
    fleet(api.store, [(), (FP8,), (FP8,), (FP8,), (FP8,)], clock.now() - HOUR)

    found = document(api)

    assert [each.provider for each in found.endpoints if each.finding is ConsensusFinding.DIFFERS] == ["host-0"]
    assert "differs from the others" in found.says
    assert not {"wrong", "fraud", "fault", "bad", "suspect", "drift"} & set(found.says.lower().split())


def test_three_providers_are_inapplicable_whatever_serves_other_models(api: Api) -> None:
    fleet(api.store, [()] * 3, clock.now() - HOUR)
    fleet(api.store, [()] * 5, clock.now() - HOUR, model="large")

    found = document(api)

    assert (found.finding, len(found.endpoints)) == (ConsensusFinding.INAPPLICABLE, 3)
    assert found.says.endswith("these are 3")
    assert found.remedy


def test_a_run_that_is_too_old_counts_only_where_it_is_looked_further_back(api: Api) -> None:
    fleet(api.store, [()] * 3, clock.now() - HOUR)
    (answers,) = world([()])
    answered(api.store, hosted(api.store, 3, clock.now()), answers, clock.now() - 30 * HOUR)

    assert document(api).finding is ConsensusFinding.INAPPLICABLE
    assert document(api, "?within=2d").providers == 4


def test_a_newer_run_is_seen_at_once(api: Api) -> None:
    endpoints = fleet(api.store, [()] * 5, clock.now() - HOUR)
    assert document(api).finding is ConsensusFinding.NOT_SHOWN
    *_, changed = world([(), (), (), (), (FP8,)])
    run_id = answered(api.store, endpoints[4], changed, clock.now())

    found = document(api)

    assert (found.finding, found.endpoints[4].run_id) == (ConsensusFinding.DIFFERS, run_id)


def test_nothing_private_is_answered(api: Api) -> None:
    fleet(api.store, ONE_OF_FIVE, clock.now() - HOUR, references=[0])
    text = api.as_("read").get(PATH).text
    assert [private for private in private_texts() if private in text] == []


def test_who_may_not_read_does_not_learn_of_it(api: Api) -> None:
    fleet(api.store, ONE_OF_FIVE, clock.now() - HOUR)
    assert api.anonymous.get(PATH).status_code == 200

    api.add_user()

    assert_problem(api.anonymous.get(PATH), 401, "unauthorized")


def test_a_model_that_was_never_asked_is_inapplicable_where_it_is_configured(api: Api) -> None:
    assert_problem(api.anonymous.get(PATH), 404, "not_found")

    configure(api)

    assert document(api).finding is ConsensusFinding.INAPPLICABLE


@pytest.mark.parametrize("within", ["0h", "1000d", "-1h", "yesterday", "24", "1.5h", ""])
def test_what_is_no_time_is_refused(api: Api, within: str) -> None:
    problem = assert_problem(api.admin.get(f"{PATH}?within={within}"), 422, "request_invalid")
    assert problem["errors"][0]["pointer"] == "/query/within"
