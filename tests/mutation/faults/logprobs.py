"""Faults of the log-probabilities."""

from __future__ import annotations

from typing import Any

from probes.quirks import Quirk
from probes.tools.attribution import Layer
from tests.endpoints.answers import Json
from tests.endpoints.edits import Edit, choice, chunks, position
from tests.mutation.faults.mutation import always, streamed
from tests.mutation.scenes import LOGPROBS, NUCLEUS

FLOAT32_MIN = -3.4028234663852886e38


def _others(value: Any) -> Edit:
    """The value of every alternative but the sampled token."""
    return lambda place: [entry.update(logprob=value) for entry in place["top_logprobs"][1:]]


def _last(value: Any) -> Edit:
    return lambda place: place["top_logprobs"][-1].update(logprob=value)


def _sampled(value: Any) -> Edit:
    def edit(place: Json) -> None:
        place["logprob"] = place["top_logprobs"][0]["logprob"] = value

    return edit


def _certain(value: Any) -> Edit:
    def edit(place: Json) -> None:
        _sampled(0.0)(place)
        _others(value)(place)

    return edit


def _legacy(one: Json) -> None:
    places = (one["logprobs"] or {}).get("content")
    if places:
        one["logprobs"] = {
            "tokens": [place["token"] for place in places],
            "token_logprobs": [place["logprob"] for place in places],
            "top_logprobs": [{entry["token"]: entry["logprob"] for entry in place["top_logprobs"]} for place in places],
        }


def _tokens(edit: Edit) -> Edit:
    """The sampled token, in both places."""
    return lambda place: [edit(place), edit(place["top_logprobs"][0])]


def _same_list(place: Json) -> None:
    place["top_logprobs"] = [{"token": f" same{rank}", "logprob": -1.0 - rank, "bytes": None} for rank in range(5)]


def _all_but_first(found: list[Json]) -> list[Json]:
    for chunk in found[2:-1]:
        chunk["choices"][0]["logprobs"] = None
    return found


def _halves(place: Json) -> None:
    """What a nucleus of two tokens leaves, renormalised."""
    place["top_logprobs"] = place["top_logprobs"][:2]
    for entry in place["top_logprobs"]:
        entry["logprob"] = -0.6931471805599453
    place["logprob"] = -0.6931471805599453


MUTATIONS = (
    always("null", LOGPROBS, choice(lambda one: one.update(logprobs=None)), Quirk.LP_NULL),
    always("absent", LOGPROBS, choice(lambda one: one.pop("logprobs")), Quirk.LP_NULL),
    always("the older shape", LOGPROBS, choice(_legacy), Quirk.LP_LEGACY_SHAPE, Layer.STACK),
    always("positive", LOGPROBS, position(_sampled(0.5)), Quirk.LP_POSITIVE, Layer.STACK),
    always("-9999", LOGPROBS, position(_last(-9999.0)), Quirk.LP_SENTINEL),
    always("float32's least", LOGPROBS, position(_last(FLOAT32_MIN)), Quirk.LP_SENTINEL),
    always("null for one", LOGPROBS, position(_last(None)), Quirk.LP_SENTINEL),
    always("NaN", LOGPROBS, position(_last(float("nan"))), Quirk.LP_SENTINEL),
    always("-Infinity", LOGPROBS, position(_last(float("-inf"))), Quirk.LP_SENTINEL),
    always(
        "after temperature",
        LOGPROBS,
        position(_certain(FLOAT32_MIN)),
        Quirk.LP_PROCESSED,
        Quirk.LP_SENTINEL,
        Layer.STACK,
    ),
    always("after top_p", NUCLEUS, position(_halves), Quirk.LP_PROCESSED_SUSPECT, Quirk.LP_TOPK_SHORT, Layer.STACK),
    always("fewer than asked", LOGPROBS, position(lambda place: place["top_logprobs"].pop()), Quirk.LP_TOPK_SHORT),
    always("no list", LOGPROBS, position(lambda place: place.update(top_logprobs=[])), Quirk.LP_TOPK_SHORT),
    always(
        "no bytes",
        LOGPROBS,
        position(lambda place: [entry.pop("bytes") for entry in (place, *place["top_logprobs"])]),
        Quirk.LP_MISSING_BYTES,
    ),
    always(
        "bytes of U+FFFD",
        LOGPROBS,
        position(_tokens(lambda entry: entry.update(bytes=[0xEF, 0xBF, 0xBD]))),
        Quirk.LP_BYTES_REPLACEMENT,
        Layer.STACK,
    ),
    always(
        "sampled not in its list",
        LOGPROBS,
        position(
            lambda place: place["top_logprobs"].__setitem__(
                0, {"token": " else", "logprob": place["logprob"], "bytes": None}
            )
        ),
        Quirk.LP_SAMPLED_NOT_IN_TOP,
        Layer.STACK,
    ),
    always(
        "the vocabulary's sign for a space",
        LOGPROBS,
        position(_tokens(lambda entry: entry.update(token=entry["token"].replace(" ", "\u0120"), bytes=None))),
        Quirk.LP_VOCAB_MARKER,
        Layer.STACK,
    ),
    always(
        "one list for all",
        LOGPROBS,
        position(_same_list),
        Quirk.LP_REPEATED_POSITION,
        Quirk.LP_SAMPLED_NOT_IN_TOP,
        Layer.STACK,
    ),
    always(
        "two values for one token",
        LOGPROBS,
        position(lambda place: place.update(logprob=place["logprob"] - 0.5)),
        Quirk.LP_INCONSISTENT_SAMPLED,
        Layer.STACK,
    ),
    always(
        "not the likeliest at temperature 0",
        LOGPROBS,
        position(lambda place: place["top_logprobs"][1].update(logprob=-0.1)),
        Quirk.LP_INCONSISTENT_SAMPLED,
        Layer.STACK,
    ),
    streamed("in the first chunk only", LOGPROBS, chunks(_all_but_first), Quirk.LP_PARTIAL_COVERAGE),
)
