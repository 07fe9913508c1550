"""The greedy probe: private questions, each used once, answered at some length at temperature 0.

First tokens say nothing of what builds up over an answer: a cache of keys and values in few bits, speculation that
accepts what it should not, an end of text that comes too early. The reference reads the answers token by token.
"""

from __future__ import annotations

import hashlib

from probes import grammar
from probes.grammar import GRAMMAR_SHA256, GRAMMAR_VERSION, Prompt
from probes.plan import Item, Plan, ProbeKind

VERSION = "1"
ANSWERS = 20
TOKENS = 200


def plan(seed: bytes, nonce: bytes, *, part: float = 1.0) -> Plan:
    """20 questions, or the `part` of them, one at least."""
    asked = grammar.long_answers(seed, nonce, max(1, int(ANSWERS * part)))
    items = tuple(_item(f"greedy-{place}-{prompt.sha256[:12]}", prompt) for place, prompt in enumerate(asked))
    lines = "\n".join([VERSION, GRAMMAR_VERSION, GRAMMAR_SHA256])
    return Plan(ProbeKind.GREEDY, items, hashlib.sha256(lines.encode()).hexdigest(), VERSION)


def _item(key: str, prompt: Prompt) -> Item:
    request = {
        "messages": [dict(message) for message in prompt.messages],
        "max_tokens": TOKENS,
        "temperature": 0,
        "stream": False,
    }
    return Item(key, 0, request)
