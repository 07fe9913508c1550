"""Faults of the event stream: its frames, its end, its breaking off."""

from __future__ import annotations

from probes.plan import Outcome
from probes.quirks import Quirk
from probes.tools.attribution import Layer
from probes.tools.scored import Exclusion, Fault
from tests.endpoints.edits import after, blocks, chunks, finish, only
from tests.endpoints.wire import DONE, Wire
from tests.mutation.faults.mutation import streamed, whole
from tests.mutation.scenes import CALL, PAIR, TALK

_LOST = (Outcome.HTTP_ERROR, Exclusion.TRANSPORT, Layer.TRANSPORT)
_BROKEN_OFF = (Quirk.STREAM_TRUNCATED, Quirk.USAGE_MISSING, *_LOST)


def _glued(found: list[bytes]) -> list[bytes]:
    """The fourth event is cut short, and the fifth follows in the same line."""
    return [*found[:3], found[3][:40] + found[4], *found[5:]]


def _cut_in_two(found: list[bytes]) -> list[bytes]:
    """The emoji's bytes stand as they are, two in one event and two in the next."""
    place = next(place for place, block in enumerate(found) if b"\\ud83c\\udf09" in block)
    front, back = found[place].split(b"\\ud83c\\udf09")
    head = front[: front.index(b'"content": "') + len(b'"content": "')]
    split = [front + b"\xf0\x9f" + back, head + b"\x8c\x89" + back]
    return [*found[:place], *split, *found[place + 1 :]]


MUTATIONS = (
    streamed("[DONE] missing", TALK, blocks(lambda found: found[:-1]), Quirk.SSE_MISSING_DONE, Layer.STACK),
    streamed("a ping as data", TALK, after(3, b"data: ping\n\n"), Quirk.SSE_NON_JSON_DATA, Layer.STACK),
    streamed("a comment as data", TALK, after(0, b"data: : keep-alive\n\n"), Quirk.SSE_NON_JSON_DATA, Layer.STACK),
    streamed("a number as data", TALK, after(3, b"data: 17\n\n"), Quirk.SSE_NON_JSON_DATA, Layer.STACK),
    streamed("empty data", TALK, after(3, b"data:\n\n"), Quirk.SSE_EMPTY_DATA, Layer.STACK),
    streamed("two frames glued", TALK, blocks(_glued), Quirk.SSE_FRAME_CORRUPT, Fault.CONTENT, Layer.STACK),
    streamed("broken off in the text", TALK, only(5), *_BROKEN_OFF),
    streamed("broken off in a call", CALL, only(4), *_BROKEN_OFF),
    streamed("broken off in the second call", PAIR, only(16), *_BROKEN_OFF),
    streamed("broken off inside a frame", TALK, blocks(lambda found: [*found[:5], found[5][:40]]), *_BROKEN_OFF),
    streamed("no event at all", TALK, only(0), *_BROKEN_OFF),
    streamed("no finish_reason", TALK, finish(None), Quirk.STREAM_TRUNCATED, *_LOST),
    streamed("[DONE] alone", TALK, blocks(lambda _: [DONE]), *_BROKEN_OFF),
    streamed("reset in the text", TALK, Wire(blocks=lambda found: found[:5], ends="reset"), *_LOST),
    whole("reset in the body", TALK, Wire(blocks=lambda found: [found[0][:40], b" "], ends="reset"), *_LOST),
    whole("a stream that was not asked for", TALK, Wire(streams=True), Quirk.STREAM_UNREQUESTED, Layer.STACK),
    streamed("a stream as one read", TALK, blocks(lambda found: [b"".join(found)]), Quirk.BUFFERED_TOKENS),
    # The three below are a stack's, and look as if the model had said it so.
    streamed("a character's bytes over two events", TALK, blocks(_cut_in_two), Fault.CONTENT, Layer.MODEL),
    streamed("a delta lost", TALK, chunks(lambda found: [*found[:4], *found[5:]]), Fault.CONTENT, Layer.MODEL),
    streamed("a delta doubled", TALK, chunks(lambda found: [*found[:5], *found[4:]]), Fault.CONTENT, Layer.MODEL),
)
