"""Real answers to tool calls: the layer they are scored down in is the one that those who reported them named."""

from __future__ import annotations

from typing import Any

import pytest

from probes.plan import Attempt, Item, Outcome, Sample
from probes.quirks import Disposition, Quirk
from probes.tools.attribution import Layer
from probes.tools.case import Case, Category, Oracle, Trigger
from probes.tools.score import score
from tests.probes.recorded_cases import body_of, load_cases, read_pieces
from tests.probes.tools.answers import AT

LAYERS = {
    "transport": Layer.TRANSPORT,
    "gateway": Layer.STACK,
    "serving_stack": Layer.STACK,
    "model_output": Layer.MODEL,
    "capability": None,
    "info": None,
    "none": None,
}
RECORDED = {
    name: recorded
    for name, recorded in load_cases().items()
    if recorded["request"].get("tools") and recorded["expect"].get("attribution") in LAYERS
}


@pytest.mark.parametrize("recorded", RECORDED.values(), ids=RECORDED.keys())
def test_a_recorded_answer_goes_wrong_in_the_layer_that_was_reported(recorded: dict[str, Any]) -> None:
    answer = read_pieces(recorded, [body_of(recorded)])
    failed = answer.disposition is Disposition.ERROR
    outcome = Outcome.RATE_LIMITED if answer.http_status == 429 else Outcome.HTTP_ERROR if failed else Outcome.OK
    asked = {
        key: value for key, value in recorded["request"].items() if key not in ("model", "stream", "stream_options")
    }
    case = Case(Category.T1, "recorded", asked, Oracle(Trigger.MUST if answer.tool_calls else Trigger.FREE))
    attempt = Attempt(answer.http_status, {}, body_of(recorded), AT, 0.1, "provider_unreachable" if failed else None)
    scored = score(case, Sample(Item(case.key, 0, asked), outcome, answer, (attempt,), recorded["request"]))
    # A stack that passes on what a model encoded twice has not done its work: a repair would have made it right.
    repaired = Quirk.TC_ARGS_DOUBLE_ENCODED in answer.quirks
    assert scored.layer is (Layer.STACK if repaired else LAYERS[recorded["expect"]["attribution"]])
