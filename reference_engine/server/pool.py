"""Any local model on demand: which files a name means, and one forward pass at a time over all of them."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from fastapi import FastAPI

from reference_engine import bundle, load_engine
from reference_engine.errors import EngineRequestError
from reference_engine.interface import BARE_ANSWER_TOKENS, ServableBackend
from reference_engine.server.app import create_app
from reference_engine.server.kept import Kept, Opened
from reference_engine.server.settings import ServerSettings
from reference_engine.tokenizer import ModelTokenizer
from reference_engine.vocabulary import read_tokenizer

T = TypeVar("T")

_TOKENIZERS = 8
# As many as one check asks at a time, and half of what runs in one batch: what is scored meanwhile finds room. The
# others wait, rather than be sent away and lose the answer to a question.
_CONVERSATIONS, _WAITING = 32, 4096


class ReferencePool:
    """`engines` and `tokenizers` open on the thread that computes, so none is closed in the middle of a pass."""

    def __init__(self, keep: int) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="engine")
        self.engines: Kept[ServableBackend] = Kept(weights_at, _open_engine, self._close_engine, keep)
        self.tokenizers: Kept[ModelTokenizer] = Kept(tokenizer_at, _open_tokenizer, lambda _: None, _TOKENIZERS)
        self._servers: dict[tuple[ServableBackend, str], FastAPI] = {}

    async def compute(self, step: Callable[[], T]) -> T:
        """Takes its turn behind the steps asked for before."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, step)

    def server(self, engine: ServableBackend, profile: str) -> FastAPI:
        """Holds conversations with an open engine; made by the thread that computes. Raises EngineRequestError for an
        unknown profile."""
        found = self.server_at_hand(engine, profile)
        if found is None:
            settings = ServerSettings(
                profile,
                active_limit=_CONVERSATIONS,
                queue_limit=_WAITING,
                bare_answer_tokens=BARE_ANSWER_TOKENS,
            )
            found = self._servers[engine, profile] = create_app(engine, settings)
        return found

    def server_at_hand(self, engine: ServableBackend, profile: str) -> FastAPI | None:
        return self._servers.get((engine, profile))

    def close(self) -> None:
        """Waits for the step that is being computed and drops those behind it."""
        self._thread.shutdown(wait=True, cancel_futures=True)
        self.engines.close()
        self.tokenizers.close()

    def _close_engine(self, engine: ServableBackend) -> None:
        for key in [key for key in self._servers if key[0] is engine]:
            self._servers.pop(key).state.close()
        engine.close()


def weights_at(model: str) -> Path:
    """Raises EngineRequestError for a relative path, ModelNotFoundError or ModelFileError where no weights are."""
    _check_absolute(model)
    return bundle.resolve_model(model)


def tokenizer_at(model: str) -> Path:
    _check_absolute(model)
    return bundle.resolve_model(model) if bundle.is_known(model) else Path(model)


def _check_absolute(model: str) -> None:
    if "\0" in model or not (bundle.is_known(model) or Path(model).is_absolute()):
        raise EngineRequestError(
            f"{model!r} is no absolute path.", remedy=f"Name the model by {bundle.BUNDLED!r} or an absolute path."
        )


def _open_engine(path: Path) -> Opened[ServableBackend]:
    engine = load_engine(path)
    return Opened(engine, engine.fingerprint("fp32"))


def _open_tokenizer(path: Path) -> Opened[ModelTokenizer]:
    tokenizer = read_tokenizer(path)
    digests = f"{tokenizer.facts.digest} {tokenizer.template_digest}"
    return Opened(tokenizer, hashlib.sha256(digests.encode()).hexdigest())
