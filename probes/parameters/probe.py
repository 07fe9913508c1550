"""The parameter probe: its plan, and what its samples show of each parameter."""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterable, Iterator
from typing import TYPE_CHECKING

from probes.capabilities import Capabilities
from probes.grammar import GRAMMAR_SHA256
from probes.parameters.experiments import EXPERIMENTS, TWINNED, Experiment, free_twins
from probes.parameters.judgement import Judgement
from probes.parameters.laboratory import HOT, Laboratory
from probes.parameters.trial import Arm, Trial, arms_by_experiment
from probes.plan import Item, Plan, ProbeKind, Sample

if TYPE_CHECKING:
    from reference_engine.interface import TokenizerBackend

VERSION = "1"
NAMES: tuple[str, ...] = tuple(experiment.name for experiment in EXPERIMENTS)
_GREETING = {"messages": [{"role": "user", "content": "Good morning."}], "max_tokens": 16, "stream": False}


def plan(
    seed: bytes,
    run_nonce: bytes,
    *,
    only: Collection[str] = NAMES,
    capabilities: Capabilities | None = None,
    tokenizer: TokenizerBackend | None = None,
    pairs: int = 7,
    trials: int = 3,
    hot: float = HOT,
) -> Plan:
    """The trials of the experiments named in `only`: fourteen requests for each parameter that narrows sampling and for
    their common free arm, two to six for each of the others, of a few tokens each.

    `capabilities` are what is known of the endpoint: one that cannot be asked for a temperature is not, but in the
    trials of temperature. logit_bias is left out without a `tokenizer`, since its ids would mean nothing. Fewer than
    six pairs, or three trials, cannot show all that can be found; seven are enough for a whole check to suspect a
    change.
    """
    lab = Laboratory(seed, run_nonce, capabilities or Capabilities(), tokenizer, pairs, trials, hot)
    chosen = [experiment for experiment in EXPERIMENTS if experiment.name in only]
    nonce = hashlib.sha256(run_nonce).hexdigest()[:8]
    # The first one is adapted as any request is: an endpoint that cannot be used at all costs one request.
    greeting = Item(f"parameter/greeting-{nonce}", 0, _GREETING)
    items = (greeting, *(trial.item(nonce) for trial in _mixed(lab, chosen)))
    suite = hashlib.sha256("\n".join([VERSION, GRAMMAR_SHA256, *(one.name for one in chosen)]).encode()).hexdigest()
    return Plan(ProbeKind.PROTOCOL, items, suite, VERSION)


def judge(samples: Iterable[Sample], tokenizer: TokenizerBackend | None = None) -> tuple[Judgement, ...]:
    """One judgement for each experiment of which a sample was taken, in the experiments' order. `tokenizer` is that of
    the plan."""
    found = arms_by_experiment(samples)
    free = found.get("free", {}).get("free", Arm())
    return tuple(one.judge(found[one.name], free, tokenizer) for one in EXPERIMENTS if one.name in found)


def _mixed(lab: Laboratory, chosen: Iterable[Experiment]) -> Iterator[Trial]:
    """The trials in an order that no drift of the endpoint follows, second twins after all first ones."""
    experiments = list(chosen)
    trials = [trial for experiment in experiments for trial in experiment.trials(lab)]
    if TWINNED & {experiment.name for experiment in experiments}:
        trials += free_twins(lab)
    draw = lab.draw("order")
    for rep in range(2):
        left = [trial for trial in trials if trial.rep == rep]
        while left:
            yield left.pop(draw.below(len(left)))
