"""Reads the profile of one response out of its stored bytes and headers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping

from probes.plan import Sample
from probes.profile import answer_features as answer
from probes.profile import envelope_features as envelope
from probes.profile.features import COMMON, Feature, Profile
from probes.profile.reply import Reply
from probes.wire.json_value import as_object

_OF_ANY: Mapping[Feature, Callable[[Reply], str | None]] = {
    Feature.HEADERS: envelope.headers,
    Feature.CONTENT_TYPE: envelope.content_type,
    Feature.SERVER: envelope.server,
    Feature.VIA: envelope.via,
    Feature.JSON_SPACING: envelope.json_spacing,
}
_OF_ERRORS = {**_OF_ANY, Feature.ERROR_SHAPE: envelope.error_shape}
_OF_ANSWERS: Mapping[Feature, Callable[[Reply], str | None]] = {
    **_OF_ANY,
    Feature.ID: envelope.identifier,
    Feature.OBJECT: envelope.object_name,
    Feature.CREATED: envelope.created,
    Feature.MODEL: envelope.model,
    Feature.SYSTEM_FINGERPRINT: envelope.system_fingerprint,
    Feature.ENVELOPE_KEYS: envelope.envelope_keys,
    Feature.CHOICE_KEYS: envelope.choice_keys,
    Feature.MESSAGE_KEYS: envelope.message_keys,
    Feature.USAGE_KEYS: envelope.usage_keys,
    Feature.USAGE_PLACEMENT: envelope.usage_placement,
    Feature.FINISH: answer.finish,
    Feature.REASONING_FIELD: answer.reasoning_field,
    Feature.CALL_ID: answer.call_id,
    Feature.CALL_INDEX_BASE: answer.call_index_base,
    Feature.CALL_ARGUMENTS: answer.call_arguments,
    Feature.CALL_NAME: answer.call_name,
    Feature.CONTENT_WHEN_CALLING: answer.content_when_calling,
    Feature.ROLE_CHUNK: answer.role_chunk,
    Feature.LAST_CHUNK: answer.last_chunk,
    Feature.DONE: envelope.done,
    Feature.LINE_END: envelope.line_end,
    Feature.DATA_PREFIX: envelope.data_prefix,
    Feature.LOGPROB_SHAPE: answer.logprob_shape,
    Feature.LOGPROB_BYTES: answer.logprob_bytes,
    Feature.TOP_K: answer.top_k,
    Feature.TOKENS_PER_CHUNK: answer.tokens_per_chunk,
    Feature.KEEP_ALIVE: envelope.keep_alive,
    Feature.LOGPROB_SENTINEL: answer.logprob_sentinel,
}
_COMMON = {feature: read for feature, read in _OF_ANSWERS.items() if feature in COMMON}


def profile_of(sample: Sample) -> Profile | None:
    """The profile of a sample's last response; None where there was none, or one that broke off before its end."""
    reply = Reply.of(sample)
    if reply is None:
        return None
    if reply.status >= 400:
        return _profile(f"error {reply.status}", _OF_ERRORS, reply)
    return _profile(_kind(reply), _OF_ANSWERS, reply) if answer.finish(reply) is not None else None


def common_of(sample: Sample) -> Profile | None:
    """What of `profile_of` every good answer has, whatever its kind, at a part of the work; None where none came."""
    reply = Reply.of(sample)
    if reply is None or reply.status >= 400 or answer.finish(reply) is None:
        return None
    return _profile("", _COMMON, reply)


def profiles_of(samples: Iterable[Sample]) -> Iterator[tuple[Sample, Profile]]:
    """Each sample that has a profile, with it."""
    for sample in samples:
        profile = profile_of(sample)
        if profile is not None:
            yield sample, profile


def _profile(kind: str, readers: Mapping[Feature, Callable[[Reply], str | None]], reply: Reply) -> Profile:
    found = ((feature, read(reply)) for feature, read in readers.items())
    return Profile(kind, {feature: value for feature, value in found if value is not None})


def _kind(reply: Reply) -> str:
    """What of the request and of the model's doing shows in how a response is written."""
    completion = reply.completion
    reason = completion.finish_reason if completion is not None else None
    said = answer.content_when_calling(reply)
    choice = reply.request.get("tool_choice")
    marks = {
        "chat" if "messages" in reply.request else "text": True,
        "stream" if reply.streamed else "plain": True,
        "usage": as_object(reply.request.get("stream_options")).get("include_usage") is True,
        f"logprobs {answer.alternatives_asked(reply)}": answer.asked_for_logprobs(reply),
        "stops": bool(reply.request.get("stop")),
        "tools": bool(reply.request.get("tools")),
        "named tool": isinstance(choice, dict),
        "some tool": choice == "required",
        "calls": said is not None,
        # Words and blanks before a call are the model's.
        f"{said} before": said in ("text", "blank"),
        "reasoning": completion is not None and bool(completion.reasoning),
        "cut": reason == "length",
        "filtered": reason == "content_filter",
    }
    return ", ".join(mark for mark, holds in marks.items() if holds)
