"""T1: one tool, and all it takes to call it."""

from __future__ import annotations

from probes.grammar import Draw
from probes.tools.families.errands import Form, conversation, request
from probes.tools.families.kinds import KINDS, Kind
from probes.tools.families.question import SAMPLED, Family, Question, must_call


def _family(kind: Kind) -> Family:
    def make(draw: Draw) -> Question:
        one = Form.of(kind, draw).errand(draw)
        return must_call(request(conversation(draw, one.says), [one.tool], **SAMPLED), one.wanted)

    return Family(kind.name, make)


FAMILIES = tuple(map(_family, KINDS))
