"""T11: one to eight kilobytes, copied into an argument."""

from __future__ import annotations

from dataclasses import replace

from probes.grammar import Draw
from probes.tools.families import long_texts, schema
from probes.tools.families.long_texts import Line, of_size
from probes.tools.families.one_value import one_value
from probes.tools.families.question import ROOM, Family, Question

_ASK = "Store the text between the lines of === in record {record}, complete and without any change."


def _family(name: str, line: Line, size: int) -> Family:
    def make(draw: Draw) -> Question:
        value = of_size(line, size, draw)
        takes = schema.text("The whole text, unchanged.", minLength=1)
        question = one_value(draw, takes, value, f"{_ASK}\n===\n{value}\n===")
        # A token for each byte is the worst that a tokenizer can do.
        return replace(question, request={**question.request, "max_tokens": ROOM + len(value.encode())})

    return Family(name, make)


FAMILIES = (
    _family("prose-8k", long_texts.prose, 8192),
    _family("log-6k", long_texts.log, 6144),
    _family("table-4k", long_texts.table, 4096),
    _family("rows-3k", long_texts.rows, 3072),
    _family("code-2k", long_texts.code, 2048),
    _family("scripts-1k", long_texts.scripts, 1024),
)
