"""llama.cpp through the low-level functions of llama-cpp-python: its `Llama` class runs one sequence at a time."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import repeat
from typing import Any

import llama_cpp
import numpy as np

from benchmarks.engines.job import Job
from benchmarks.engines.lockstep import Lockstep
from benchmarks.engines.rows import Rows, log_normalisers, top
from benchmarks.engines.subject import Prompt

_BATCH = 2048
# Prompts whose logits are in memory at once when scoring.
_SCORED_AT_ONCE = 2
_SPARE = 16


@dataclass(frozen=True)
class Token:
    """One token for a batch; `read` says whether its logits are wanted."""

    id: int
    position: int
    sequence: int
    read: bool


class Context:
    """A context of llama.cpp and the one batch it is fed with."""

    def __init__(self, handle: Any, vocabulary: int) -> None:
        self._handle = handle
        self._vocabulary = vocabulary
        self._batch = llama_cpp.llama_batch_init(_BATCH, 0, 1)

    def run(self, tokens: Sequence[Token]) -> Rows:
        """Logits [tokens to read, vocabulary]; they hold until the next run."""
        if len(tokens) > _BATCH:
            parts = [tokens[at : at + _BATCH] for at in range(0, len(tokens), _BATCH)]
            return np.concatenate([self.run(part).copy() for part in parts])
        batch = self._batch
        batch.n_tokens = len(tokens)
        for at, token in enumerate(tokens):
            batch.token[at], batch.pos[at], batch.logits[at] = token.id, token.position, token.read
            batch.n_seq_id[at], batch.seq_id[at][0] = 1, token.sequence
        if code := llama_cpp.llama_decode(self._handle, batch):
            raise RuntimeError(f"llama_decode gave {code}")
        rows = sum(token.read for token in tokens)
        if rows == 0:
            return np.empty((0, self._vocabulary), np.float32)
        return np.ctypeslib.as_array(llama_cpp.llama_get_logits(self._handle), (rows, self._vocabulary))

    def forget(self) -> None:
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self._handle), False)

    def free(self) -> None:
        llama_cpp.llama_batch_free(self._batch)
        llama_cpp.llama_free(self._handle)


class LlamaCpp(Lockstep):
    """A GGUF file in llama.cpp, with its defaults for all but threads and sizes."""

    def __init__(self, path: str, threads: int) -> None:
        self._threads = threads
        self._model = llama_cpp.llama_model_load_from_file(path.encode(), llama_cpp.llama_model_default_params())
        if not self._model:
            raise RuntimeError(f"llama.cpp does not read {path}")
        self.vocabulary: int = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self._model))

    def about(self) -> Mapping[str, str]:
        return {
            "llama-cpp-python": llama_cpp.__version__,
            "llama.cpp": llama_cpp.llama_print_system_info().decode().strip(),
        }

    @contextmanager
    def _context(self, sequences: int, length: int) -> Iterator[Context]:
        params = llama_cpp.llama_context_default_params()
        params.n_ctx = sequences * (length + _SPARE)
        params.n_seq_max = sequences
        params.n_batch = _BATCH
        params.n_threads = params.n_threads_batch = self._threads
        context = Context(llama_cpp.llama_init_from_model(self._model, params), self.vocabulary)
        try:
            yield context
        finally:
            context.free()

    def steps(self, prompts: Sequence[Prompt], new: int, known: int = 0) -> Iterator[Rows]:
        length = len(prompts[0])
        with self._context(len(prompts), length + new) as context:
            if known:
                context.run(_tokens(prompts, 0, known, ()))
            logits = context.run(_tokens(prompts, known, length, (length - 1,)))
            yield logits
            for position in range(length, length + new - 1):
                best = logits.argmax(axis=1).tolist()
                logits = context.run([Token(id_, position, place, True) for place, id_ in enumerate(best)])
                yield logits

    def score(self, prompts: Sequence[Prompt], top_k: int) -> None:
        length = len(prompts[0])
        with self._context(_SCORED_AT_ONCE, length) as context, ThreadPoolExecutor(self._threads) as threads:
            for at in range(0, len(prompts), _SCORED_AT_ONCE):
                some = prompts[at : at + _SCORED_AT_ONCE]
                rows = context.run(_tokens(some, 0, length, range(length)))
                own = np.array([[*prompt[1:], 0] for prompt in some]).ravel()
                shares = np.array_split(rows, self._threads), np.array_split(own, self._threads)
                list(threads.map(_read_out, *shares, repeat(top_k)))
                context.forget()

    def close(self) -> None:
        llama_cpp.llama_model_free(self._model)


def _tokens(prompts: Sequence[Prompt], start: int, end: int, read: Sequence[int]) -> list[Token]:
    wanted = set(read)
    return [
        Token(prompt[position], position, place, position in wanted)
        for place, prompt in enumerate(prompts)
        for position in range(start, end)
    ]


def _read_out(rows: Rows, own: Any, top_k: int) -> tuple[Rows, Rows]:
    """The log-probabilities of the own tokens [rows] and of the most likely ones [rows, top_k]."""
    normalisers = log_normalisers(rows)
    _, logits = top(rows, top_k)
    return rows[np.arange(len(rows)), own] - normalisers, logits - normalisers[:, None]


@llama_cpp.llama_log_callback  # type: ignore[untyped-decorator]
def _silent(_level: int, _text: bytes, _data: ctypes.c_void_p) -> None: ...


def open_subject(job: Job) -> LlamaCpp:
    llama_cpp.llama_log_set(_silent, ctypes.c_void_p(0))
    return LlamaCpp(job.model, job.threads)
