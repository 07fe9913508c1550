"""Stored answers of a model's endpoints held against each other: who is named, who is not, and in which words."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from monitor.check.consensus import compared
from monitor.consensus import ConsensusDocument, ConsensusFinding, EndpointBeside
from monitor.drift.consensus import Consensus, of_logprobs
from monitor.errors import StorageError
from monitor.store.anchors import AskedEndpoint, AskedModel
from monitor.store.codec import encode
from tests.monitor.store.beside import (
    FP8,
    INT8,
    ONE_OF_FIVE,
    Answers,
    items,
    observation,
    observed,
    private_texts,
    world,
)
from tests.monitor.store.material import AT, later

BF16 = 0.045


def asked(hosts: Sequence[str]) -> AskedModel:
    """One endpoint of each of these hosts; several of one that is named several times."""
    endpoints = tuple(
        AskedEndpoint(f"ep_{place}", host, f"smol-{place}", f"run_{place}", later(place))
        for place, host in enumerate(hosts)
    )
    return AskedModel("smol", AT, later(60), endpoints)


def stored(answers: Answers, *, reference: bool = False, n: int = 40) -> tuple[bytes, ...]:
    return tuple(encode(one) for one in observed(answers, items(reference=reference, n=n)) if one.anchor)


def beside(
    answers: Sequence[Answers], *, hosts: Sequence[str] | None = None, references: Sequence[int] = ()
) -> ConsensusDocument:
    blobs = {f"run_{place}": stored(one, reference=place in references) for place, one in enumerate(answers)}
    return compared(asked(hosts or [f"host-{place}" for place, _ in enumerate(answers)]), blobs)


def findings(found: ConsensusDocument) -> dict[str, str]:
    return {each.endpoint_id: each.finding.value for each in found.endpoints}


def of(found: ConsensusDocument, place: int) -> EndpointBeside:
    (one,) = (each for each in found.endpoints if each.endpoint_id == f"ep_{place}")
    return one


def test_the_one_of_five_that_differs_is_named_with_its_distance() -> None:
    found = beside(world(ONE_OF_FIVE))

    assert findings(found) == {f"ep_{place}": "differs" if place == 2 else "not_shown" for place in range(5)}
    one = of(found, 2)
    assert one.distance == pytest.approx(FP8, abs=0.02)
    assert one.ratio is not None
    assert one.ratio > 3.0
    assert one.p is not None
    assert one.p < 1e-6
    assert (one.prompts, one.run_id, one.at, one.served_name) == (20, "run_2", later(2), "smol-2")
    assert (found.finding, found.providers, found.prompts) == (ConsensusFinding.DIFFERS, 5, 20)
    assert found.says.startswith("host-2 (smol-2) differs from the others by 0.1")


def test_the_numbers_are_those_of_the_statistics() -> None:
    answers = world(ONE_OF_FIVE)
    wanted = of_logprobs({f"host-{place}": {k: list(v) for k, v in one.items()} for place, one in enumerate(answers)})

    assert isinstance(wanted, Consensus)
    for each, placed in zip(beside(answers).endpoints, wanted.placed, strict=True):
        assert each.provider == placed.provider
        assert (each.distance, each.ratio, each.p) == pytest.approx(
            (placed.distance, placed.ratio, placed.p), rel=1e-9, abs=0.0
        )


def test_an_endpoint_with_a_reference_is_compared_on_the_prompts_that_all_were_asked() -> None:
    found = beside(world(ONE_OF_FIVE), references=[0, 2])

    assert (found.prompts, found.finding) == (10, ConsensusFinding.DIFFERS)
    assert findings(found)["ep_2"] == "differs"
    assert {each.prompts for each in found.endpoints} == {10}


def test_where_most_run_fp8_the_honest_one_differs_and_is_not_called_wrong() -> None:
    found = beside(world([(), (FP8,), (FP8,), (FP8,), (FP8,)]))

    assert findings(found)["ep_0"] == "differs"
    assert "differs from the others" in found.says
    words = set(found.model_dump_json().lower().replace('"', " ").split())
    assert not {"wrong", "fraud", "fault", "incorrect", "bad", "dishonest", "suspect", "drift"} & words


def test_of_two_camps_nobody_is_named() -> None:
    found = beside(world([(FP8,), (FP8,), (), (), ()]))

    assert found.finding is ConsensusFinding.CAMP
    assert found.camps is not None
    assert found.camps.members == (("host-2", "host-3", "host-4"), ("host-0", "host-1"))
    assert found.camps.p <= 0.01
    assert [each.camp for each in found.endpoints] == [2, 2, 1, 1, 1]
    assert set(findings(found).values()) == {"camp"}
    assert found.says.startswith("two camps differ from each other")


@pytest.mark.parametrize("count", [0, 1, 3])
def test_fewer_than_four_providers_are_inapplicable(count: int) -> None:
    found = beside(world([()] * count))

    assert found.finding is ConsensusFinding.INAPPLICABLE
    assert found.says == f"consensus is of 4 providers of one model at least, and these are {count}"
    assert found.remedy == "Add more providers of smol to the configuration, and have them asked."
    assert set(findings(found).values()) <= {"inapplicable"}
    assert all(each.distance is None and each.p is None for each in found.endpoints)


def test_four_endpoints_of_three_providers_are_inapplicable() -> None:
    found = beside(world([()] * 4), hosts=["a", "b", "c", "c"])

    assert found.finding is ConsensusFinding.INAPPLICABLE
    assert "these are 3" in found.says


def test_who_was_not_asked_in_time_is_named_as_what_to_do() -> None:
    model = asked(["a", "b", "c", "d"])
    late = AskedEndpoint("ep_9", "late", "smol", None, None)
    answers = world([()] * 3)
    asked_of_four = AskedModel("smol", AT, later(60), (*model.endpoints[:3], late))

    found = compared(asked_of_four, {f"run_{place}": stored(one) for place, one in enumerate(answers)})

    assert (found.finding, found.remedy) == (
        ConsensusFinding.INAPPLICABLE,
        "Have the others asked (late), or look further back.",
    )
    (row,) = (each for each in found.endpoints if each.provider == "late")
    assert (row.finding, row.reason) == (ConsensusFinding.LEFT_OUT, "it was not asked in this time")


def test_what_gives_no_logprobs_is_left_out_and_the_others_are_compared() -> None:
    answers = world(ONE_OF_FIVE)
    blobs = {f"run_{place}": stored(one) for place, one in enumerate(answers)}
    silent = tuple(encode(observation(item, {})) for item in items())
    model = asked([f"host-{place}" for place in range(6)])

    found = compared(model, {**blobs, "run_5": silent})

    assert (of(found, 5).finding, of(found, 5).reason) == (
        ConsensusFinding.LEFT_OUT,
        "its answers hold no log-probabilities",
    )
    assert findings(found)["ep_2"] == "differs"
    none = compared(model, dict.fromkeys(blobs, silent))
    assert none.remedy == "Without log-probabilities an endpoint cannot be compared: add providers that return them."


def test_who_was_asked_too_little_is_left_out_with_the_reason() -> None:
    answers = world(ONE_OF_FIVE)
    blobs = {f"run_{place}": stored(one, n=12 if place == 4 else 40) for place, one in enumerate(answers)}

    found = compared(asked([f"host-{place}" for place in range(5)]), blobs)

    assert "only 6 prompts can be compared, and 8 are needed" in of(found, 4).reason
    assert findings(found)["ep_2"] == "differs"
    little = compared(
        asked([f"host-{place}" for place in range(5)]),
        {f"run_{place}": stored(one, n=12) for place, one in enumerate(answers)},
    )
    assert little.finding is ConsensusFinding.INAPPLICABLE
    assert little.remedy == "Have each sent 40 requests or more: ten prompts or more are shared then."


def test_a_second_endpoint_of_a_provider_is_judged_and_has_no_say_about_others() -> None:
    """Three endpoints of one provider run fp8. If each had a say, there would be two camps."""
    answers = world([(), (), (), (FP8,), (FP8,), (FP8,)])

    found = beside(answers, hosts=["a", "b", "c", "d", "d", "d"])

    assert found.providers == 4
    assert findings(found) == {f"ep_{place}": "differs" if place > 2 else "not_shown" for place in range(6)}
    assert found.says.count("differs from the others") == 3


def test_each_further_endpoint_is_a_comparison_more_for_all() -> None:
    answers = world([(), (FP8,), (), (), ()])
    alone, more = beside(answers[:4]), beside(answers, hosts=["a", "b", "c", "d", "d"])

    ratios = [of(more, place).p / of(alone, place).p for place in range(4)]  # type: ignore[operator]
    assert ratios == pytest.approx([1.0, 2.0, 1.0, 1.0])


def test_a_provider_speaks_by_the_endpoint_with_the_most_prompts() -> None:
    answers = world([*ONE_OF_FIVE[:4], ()])
    blobs = {f"run_{place}": stored(one, n=12 if place == 3 else 40) for place, one in enumerate(answers)}

    found = compared(asked(["a", "b", "c", "d", "d"]), blobs)

    assert findings(found) == {
        "ep_0": "not_shown",
        "ep_1": "not_shown",
        "ep_2": "differs",
        "ep_3": "left_out",
        "ep_4": "not_shown",
    }


def test_a_second_endpoint_is_told_in_which_of_the_camps_it_is() -> None:
    answers = world([(FP8,), (FP8,), (FP8,), (), (), (), ()])

    found = beside(answers, hosts=["a", "b", "c", "d", "e", "f", "a"])

    assert found.camps is not None
    camps = {each.endpoint_id: each.camp for each in found.endpoints}
    assert camps["ep_0"] == camps["ep_1"] == camps["ep_2"] != camps["ep_3"]
    assert camps["ep_6"] == camps["ep_3"] == camps["ep_4"] == camps["ep_5"]


def test_a_second_endpoint_that_would_make_two_camps_is_no_outlier() -> None:
    answers = world([(), (), (), (FP8,), (FP8,)])

    found = beside(answers, hosts=["a", "b", "c", "d", "a"])

    assert findings(found) == {
        "ep_0": "not_shown",
        "ep_1": "not_shown",
        "ep_2": "not_shown",
        "ep_3": "differs",
        "ep_4": "camp",
    }
    assert (of(found, 4).camp, found.camps) == (None, None)
    assert "two camps differ from each other" in of(found, 4).reason


def test_lawful_endpoints_are_seldom_named_however_many_a_provider_has() -> None:
    """At 1 % a look: of 60 looks four or more happen once in 300 tries."""
    hosts = ["a", "b", "c", "d", "d", "e", "e"]
    named = [beside(world([()] * 7, seed, BF16), hosts=hosts).finding for seed in range(60)]
    assert named.count(ConsensusFinding.DIFFERS) <= 3


def test_int8_shows_where_the_others_round_alike() -> None:
    named = [findings(beside(world([(INT8,), (), (), (), ()], seed)))["ep_0"] for seed in range(5)]
    assert named.count("differs") >= 4


def test_the_order_of_endpoints_and_answers_is_no_matter() -> None:
    answers = world(ONE_OF_FIVE)
    blobs = {f"run_{place}": stored(one) for place, one in enumerate(answers)}
    model = asked([f"host-{place}" for place in range(5)])
    turned = AskedModel(model.model, model.since, model.until, model.endpoints[::-1])

    assert compared(turned, {key: blob[::-1] for key, blob in blobs.items()}) == compared(model, blobs)


def test_nothing_private_is_in_the_document() -> None:
    text = beside(world(ONE_OF_FIVE), references=[1]).model_dump_json(by_alias=True)
    assert [private for private in private_texts() if private in text] == []


def test_a_damaged_answer_is_an_error() -> None:
    with pytest.raises(StorageError, match="damaged"):
        compared(asked(["a"]), {"run_0": (b"OBS\x01 no frame",)})
