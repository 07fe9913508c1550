"""Any local model on demand: which files a name means, and one forward pass at a time over all of them."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from reference_engine import bundle, load_engine
from reference_engine.errors import EngineRequestError
from reference_engine.interface import ReferenceBackend
from reference_engine.server.kept import Kept, Opened
from reference_engine.tokenizer import ModelTokenizer
from reference_engine.vocabulary import read_tokenizer

T = TypeVar("T")

_TOKENIZERS = 8


class ReferencePool:
    """`engines` and `tokenizers` open on the thread that computes, so none is closed in the middle of a pass."""

    def __init__(self, keep: int) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="engine")
        self.engines: Kept[ReferenceBackend] = Kept(weights_at, _open_engine, lambda engine: engine.close(), keep)
        self.tokenizers: Kept[ModelTokenizer] = Kept(tokenizer_at, _open_tokenizer, lambda _: None, _TOKENIZERS)

    async def compute(self, step: Callable[[], T]) -> T:
        """Takes its turn behind the steps asked for before."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, step)

    def close(self) -> None:
        """Waits for the step that is being computed and drops those behind it."""
        self._thread.shutdown(wait=True, cancel_futures=True)
        self.engines.close()
        self.tokenizers.close()


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


def _open_engine(path: Path) -> Opened[ReferenceBackend]:
    engine = load_engine(path)
    return Opened(engine, engine.fingerprint("fp32"))


def _open_tokenizer(path: Path) -> Opened[ModelTokenizer]:
    tokenizer = read_tokenizer(path)
    digests = f"{tokenizer.facts.digest} {tokenizer.template_digest}"
    return Opened(tokenizer, hashlib.sha256(digests.encode()).hexdigest())
