"""transformers in float32: its model and cache, without the overhead of its `generate`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import torch
import transformers
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, DynamicCache, PreTrainedModel
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

from benchmarks.engines.job import Job
from benchmarks.engines.lockstep import Lockstep
from benchmarks.engines.rows import Rows
from benchmarks.engines.subject import Prompt

# 1,024 rows of a vocabulary's width are 200 MB for the bundled model.
_SCORED_AT_ONCE = 4


class Transformers(Lockstep):
    """A causal language model of transformers."""

    def __init__(self, model: PreTrainedModel) -> None:
        self._model = model
        self.vocabulary: int = model.config.vocab_size

    def about(self) -> Mapping[str, str]:
        return {"transformers": transformers.__version__, "torch": torch.__version__}

    @torch.inference_mode()
    def steps(self, prompts: Sequence[Prompt], new: int, known: int = 0) -> Iterator[Rows]:
        ids = torch.tensor(prompts)
        cache = DynamicCache(config=self._model.config)
        if known:
            self._logits(ids[:, :known], cache)
        logits = self._logits(ids[:, known:], cache)
        yield logits.numpy()
        for _ in range(new - 1):
            logits = self._logits(logits.argmax(dim=-1, keepdim=True), cache)
            yield logits.numpy()

    def _logits(self, ids: Tensor, cache: DynamicCache) -> Tensor:
        """[prompts, vocabulary] after the last of the ids."""
        logits: Tensor = self._model(ids, cache=cache, use_cache=True, logits_to_keep=1).logits[:, -1]
        return logits

    @torch.inference_mode()
    def score(self, prompts: Sequence[Prompt], top_k: int) -> None:
        ids = torch.tensor(prompts)
        for some in torch.split(ids, _SCORED_AT_ONCE):
            logits = self._model(some, use_cache=False).logits
            normaliser = logits.logsumexp(dim=-1)
            logits.topk(top_k, dim=-1).values.sub_(normaliser.unsqueeze(-1))
            logits[:, :-1].gather(-1, some[:, 1:].unsqueeze(-1)).squeeze(-1).sub_(normaliser[:, :-1])

    def close(self) -> None: ...


def open_subject(job: Job) -> Transformers:
    torch.set_num_threads(job.threads)
    return Transformers(_loaded(Path(job.model)))


def _loaded(path: Path) -> PreTrainedModel:
    """`from_pretrained(gguf_file=…)` asks for the accelerate package; these are the steps it takes, without it."""
    config = AutoConfig.from_pretrained(path.parent, gguf_file=path.name)
    model: PreTrainedModel = AutoModelForCausalLM.from_config(  # type: ignore[no-untyped-call]
        config, dtype=torch.float32
    )
    checkpoint = load_gguf_checkpoint(str(path), return_tensors=True, model_to_load=model)  # type: ignore[no-untyped-call]
    model.load_state_dict(checkpoint["tensors"], strict=False)
    model.tie_weights()
    model.train(False)
    return model
