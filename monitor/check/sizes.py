"""What requests are expected to use, before anything is known of their answers."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping

from monitor.usage import Tokens
from probes.accounting import expected_prompt_tokens
from probes.capabilities import TOKEN_LIMITS
from probes.plan import Item
from reference_engine import EngineRequestError, TokenizerBackend

# What each request of a check is expected to use, by its item's key and repeat.
Sizes = Mapping[tuple[str, int], Tokens]

# A token of English text is about four characters; a template adds about this many tokens.
_CHARACTERS_PER_TOKEN = 4
_TEMPLATE_TOKENS = 30
_LONG_ANSWER = 256


def size_of(item: Item, tokenizer: TokenizerBackend | None) -> Tokens:
    return Tokens(prompt_size(item, tokenizer), _answer_size(item))


def planned_size(item: Item, sizes: Sizes) -> Tokens:
    """A turn that its conversation was not foreseen to take is guessed from its request."""
    return sizes.get((item.key, item.rep)) or size_of(item, None)


def prompt_size(item: Item, tokenizer: TokenizerBackend | None) -> int:
    """Prompt tokens: exact with a tokenizer, otherwise, and of eval items, which may be thousands of any form, guessed
    from the characters."""
    if tokenizer is not None and not item.private and "messages" in item.request:
        with contextlib.suppress(EngineRequestError):  # a template need not know every form of history
            return expected_prompt_tokens(tokenizer, item.request)
    said = json.dumps([item.request.get(part, []) for part in ("messages", "prompt", "tools")])
    return len(said) // _CHARACTERS_PER_TOKEN + _TEMPLATE_TOKENS


def _answer_size(item: Item) -> int:
    """What it may have, but of a long limit what answers of that kind take: a limit is there for answers that run away,
    and is no budget."""
    limits = [item.request[name] for name in TOKEN_LIMITS if name in item.request]
    # An experiment may ask for a limit that means nothing, or for several answers.
    most = [limit if isinstance(limit, int) and limit > 0 else _LONG_ANSWER for limit in limits]
    n = item.request.get("n")
    return min([_LONG_ANSWER, *most]) * (n if isinstance(n, int) and n > 0 else 1)
