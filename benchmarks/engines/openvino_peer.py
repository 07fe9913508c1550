"""openvino-genai's pipeline with continuous batching, which reads GGUF files itself."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import openvino
import openvino_genai

from benchmarks.engines.job import Job
from benchmarks.engines.subject import Generated, NotOfferedError, Prompt

_CACHE_GB = 2


class OpenVino:
    """One pipeline, with its defaults for all but threads and the size of its cache."""

    def __init__(self, pipeline: Any) -> None:
        self._pipeline = pipeline
        self.vocabulary = len(pipeline.get_tokenizer().get_vocab())

    def about(self) -> Mapping[str, str]:
        return {"openvino-genai": openvino_genai.__version__, "openvino": openvino.__version__}

    def generate(self, prompts: Sequence[Prompt], new: int) -> Generated:
        start = time.perf_counter()
        times: list[list[float]] = [[] for _ in prompts]
        for place, output in self._outputs(prompts, _greedy(new)):
            times[place] += [time.perf_counter()] * len(output.generated_ids)
        return Generated(start, times)

    def _outputs(self, prompts: Sequence[Prompt], config: Any) -> Iterator[tuple[int, Any]]:
        """The place of a prompt and what a step has added to its answer."""
        handles = [
            self._pipeline.add_request(place, openvino.Tensor(np.array([prompt], dtype=np.int64)), config)
            for place, prompt in enumerate(prompts)
        ]
        while self._pipeline.has_non_finished_requests():
            self._pipeline.step()
            for place, handle in enumerate(handles):
                while handle.can_read():
                    yield from ((place, output) for output in handle.read().values())

    def score(self, prompts: Sequence[Prompt], top_k: int) -> None:  # noqa: ARG002
        raise NotOfferedError("openvino-genai gives no log-probabilities but those of the tokens themselves")

    def logprobs(self, prompts: Sequence[Prompt], new: int) -> list[list[float]]:
        """Those of the answers' own tokens: no others are offered."""
        config = _greedy(new)
        config.logprobs = 1
        found: list[list[float]] = [[] for _ in prompts]
        for place, output in self._outputs(prompts, config):
            found[place] += [*output.generated_ids, *output.generated_log_probs]
        return found

    def logprobs_after(self, prompt: Prompt, known: int, new: int) -> list[float]:
        self.logprobs([prompt[:known]], 1)
        (found,) = self.logprobs([prompt], new)
        return found

    def close(self) -> None: ...


def _greedy(new: int) -> Any:
    config = openvino_genai.GenerationConfig()
    config.max_new_tokens = new
    config.do_sample = False
    config.ignore_eos = True
    config.apply_chat_template = False
    return config


def open_subject(job: Job) -> OpenVino:
    scheduler = openvino_genai.SchedulerConfig()
    scheduler.cache_size = _CACHE_GB
    # Off by default, and so for the figures; without it there is no prefix to compare.
    scheduler.enable_prefix_caching = job.what == "same_bits"
    threads = {"INFERENCE_NUM_THREADS": job.threads}
    return OpenVino(openvino_genai.ContinuousBatchingPipeline(job.model, scheduler, "CPU", threads))
