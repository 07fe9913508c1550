"""Judges a gathered answer at its end and makes the `Completion` of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from probes.completion import Completion
from probes.quirks import Disposition, Quirk
from probes.wire.answer import Answer
from probes.wire.call_findings import CallFindings, judge_calls, read_interrupted_calls, without_judgement_of_arguments
from probes.wire.finish import disagreements
from probes.wire.logprob_checks import logprob_quirks
from probes.wire.provider_error import quirks_of_rejected_call
from probes.wire.retry_after import retry_after
from probes.wire.text_findings import Text, is_cut, text_quirks


@dataclass(frozen=True, slots=True)
class Circumstances:
    """What came around the body. Header names are in lower case; `done` is whether [DONE] came, `comments` how many
    comment lines; `unreadable` says why a body is no answer at all, None where it is one."""

    http_status: int
    headers: Mapping[str, str]
    expected_arguments: Mapping[str, Any] | None = None
    done: bool = False
    comments: int = 0
    unreadable: str | None = None

    @property
    def promising(self) -> bool:
        """Whether the status promises an answer."""
        return 200 <= self.http_status < 300


def conclude(answer: Answer, around: Circumstances) -> Completion:
    """The answer, normalised, with its quirks in the order of the table."""
    quirks = _availability(answer, around) | answer.quirks | answer.envelope.quirks | answer.finish.quirks
    whole = around.promising and not any(quirk.disposition is Disposition.ERROR for quirk in quirks)
    reason, asked = answer.finish.reason, answer.asked
    if whole:
        calls = judge_calls(answer.calls, asked, reason, around.expected_arguments)
    else:
        calls = read_interrupted_calls(answer.calls, asked)
        quirks = set(without_judgement_of_arguments(quirks))
    text = Text.of(answer.content, answer.reasoning, cut=reason == "length")
    quirks |= calls.quirks | text_quirks(text, calls.calls, asked, reason)
    quirks |= _numbers(answer, text, good=whole and answer.answered)
    quirks |= disagreements(reason, asked, calls=len(calls.calls))
    if whole and _masks_length(answer, calls, text):
        quirks.add(Quirk.FINISH_MASKS_LENGTH)
    if Quirk.TC_ARGS_DUPLICATED in quirks:
        quirks.discard(Quirk.TC_ARGS_WITH_FINISH)
    if not answer.streamed and answer.error is not None:
        quirks |= quirks_of_rejected_call(answer.error, around.http_status, asked.tools)
    return _completion(answer, around, calls, text, quirks)


def _availability(answer: Answer, around: Circumstances) -> set[Quirk]:
    """The quirks that tell whether there is an answer at all, and in what form it came."""
    streamed, ended, failed = answer.streamed, answer.finish.raw is not None, answer.error is not None
    status = around.http_status
    found = {
        Quirk.STREAM_UNREQUESTED: streamed and not answer.asked.stream,
        Quirk.SSE_MISSING_DONE: streamed and ended and not around.done,
        Quirk.STREAM_TRUNCATED: streamed and not ended and not failed and around.promising,
        Quirk.INBAND_ERROR: streamed and failed,
        Quirk.HTTP_200_ERROR_BODY: not streamed and failed and around.promising,
        Quirk.EMPTY_CHOICES: answer.vacant and around.promising,
        Quirk.RATE_LIMITED: status == 429,
        Quirk.LP_SERVER_5XX: status >= 500 and answer.asked.logprobs,
    }
    return {quirk for quirk, seen in found.items() if seen}


def _numbers(answer: Answer, text: Text, *, good: bool) -> set[Quirk]:
    """The quirks of usage, pace and log-probabilities."""
    asked, usage = answer.asked, answer.usage.last
    quirks = answer.usage.quirks(has_output=answer.has_output)
    if asked.include_usage and usage is None and (answer.streamed or answer.answered):
        quirks.add(Quirk.USAGE_MISSING)
    shown = usage.shown(with_reasoning=bool(text.reasoning)) if usage and not asked.several else None
    if answer.text_chunks and not answer.calls.calls and (shown or 0) > 2 * answer.text_chunks:
        quirks.add(Quirk.MULTI_TOKEN_CHUNK)
    held_back = answer.timeline.held_back(shown)
    if answer.usage.burst if held_back is None else held_back:
        quirks.add(Quirk.BUFFERED_TOKENS)
    if answer.shape is not None:
        quirks |= logprob_quirks(answer.positions, answer.shape, asked)
    elif asked.logprobs and good:
        quirks.add(Quirk.LP_NULL)
    if 0 < answer.covered_chunks < answer.text_chunks:
        quirks.add(Quirk.LP_PARTIAL_COVERAGE)
    return quirks


def _masks_length(answer: Answer, calls: CallFindings, text: Text) -> bool:
    limit = answer.asked.max_tokens
    if answer.finish.reason in (None, "length") or limit is None or _tokens(answer) != limit:
        return False
    return Quirk.TC_ARGS_INVALID_JSON in calls.quirks or (not calls.calls and is_cut(text, answer.asked))


def _tokens(answer: Answer) -> int | None:
    """As counted. Of a stream without a count its chunks: where they are as many as the limit, each was one."""
    usage = answer.usage.last
    if usage is not None:
        return None if answer.asked.several else usage.completion_tokens
    return answer.text_chunks + answer.argument_chunks


def _completion(
    answer: Answer, around: Circumstances, calls: CallFindings, text: Text, quirks: set[Quirk]
) -> Completion:
    chat, error = answer.asked.chat, answer.error
    dispositions = [quirk.disposition for quirk in quirks]
    failed = around.unreadable is not None or not around.promising
    if failed and Quirk.TC_PROVIDER_REJECTED not in quirks:
        dispositions.append(Disposition.ERROR)
    # One impossible value makes the whole sequence worthless.
    usable = answer.shape is not None and Quirk.LP_POSITIVE not in quirks
    return Completion(
        disposition=Disposition.worst(dispositions),
        quirks=tuple(quirk for quirk in Quirk if quirk in quirks) if quirks else (),
        http_status=around.http_status,
        content=text.content if chat else None,
        reasoning=text.reasoning or None,
        refusal=answer.refusal or None,
        text=None if chat else text.content,
        tool_calls=calls.calls,
        finish_reason=answer.finish.reason,
        finish_reason_raw=answer.finish.raw,
        usage=answer.usage.last,
        logprobs=tuple(position.normalised() for position in answer.positions) if usable else None,
        id=answer.envelope.id,
        model=answer.envelope.model,
        system_fingerprint=answer.envelope.system_fingerprint,
        served_by=answer.envelope.host(around.headers),
        error_code=error.code if error else None,
        error_message=error.message if error else around.unreadable,
        retry_after=retry_after(around.headers),
        schema_valid=calls.schema_valid,
        content_chunks=answer.text_chunks,
        comments=around.comments,
        timings=answer.timeline.timings(),
        unreadable=around.unreadable is not None,
    )
