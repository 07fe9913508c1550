"""Faults of an endpoint that does not keep to what a request says."""

from __future__ import annotations

from dataclasses import replace

from probes.quirks import Quirk
from probes.tools.attribution import Layer
from probes.tools.scored import Exclusion, Fault
from tests.endpoints.answers import Answer
from tests.endpoints.edits import arguments, chained, content, says
from tests.endpoints.shifts import deaf
from tests.endpoints.wire import Wire
from tests.mutation.faults.mutation import always
from tests.mutation.scenes import BOOK_CALL, CUT, FORBIDDEN, FORM, INVALID, ONE, SILENT, STOPPED, TEXT, WARN_CALL

MUTATIONS = (
    always("max_tokens ignored", CUT, deaf("max_tokens"), Fault.FINISH, Fault.CALL_COMPLETED, Layer.STACK),
    always(
        "arguments mended after the cut", CUT, arguments(lambda text: f'{text}"}}'), Fault.CALL_COMPLETED, Layer.STACK
    ),
    always(
        "an end of its own before the limit",
        CUT,
        chained(deaf("max_tokens"), arguments(lambda _: '{"note": "Dry."}')),
        Exclusion.UNCUT,
    ),
    always("stop ignored", STOPPED, deaf("stop"), Fault.CONTENT, Layer.MODEL),
    always(
        "tool_choice none ignored",
        FORBIDDEN,
        says(lambda _: Answer(TEXT, calls=(BOOK_CALL,))),
        Fault.CALLED,
        Layer.STACK,
    ),
    always(
        "parallel_tool_calls ignored",
        ONE,
        says(lambda answer: replace(answer, calls=(*answer.calls, WARN_CALL))),
        Quirk.TC_PARALLEL_NOT_HONOURED,
        Fault.CALL_EXTRA,
        Layer.STACK,
    ),
    always(
        "reasoning that was switched off",
        SILENT,
        says(lambda answer: replace(answer, reasoning="Let me see.")),
        Fault.REASONING_PRESENT,
        Layer.STACK,
    ),
    always("no JSON where a form is due", FORM, content(lambda _: "Berth 7."), Fault.CONTENT_NOT_JSON, Layer.STACK),
    always("a fence around the form", FORM, content("```json\n{}\n```".format), Fault.CONTENT_NOT_JSON, Layer.STACK),
    always("JSON of another form", FORM, content(lambda _: '{"berth": "7"}'), Fault.CONTENT_SCHEMA, Layer.STACK),
    always(
        "an invalid value accepted",
        INVALID,
        Wire(hears=lambda heard: {**heard, "temperature": 1}),
        Fault.NOT_REFUSED,
        Layer.STACK,
    ),
)
