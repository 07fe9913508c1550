"""The border probe of a check: what an endpoint is asked for its border inputs, by what it answered so far and by what
the reference says of the prompts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from monitor import clock
from monitor.check.reference import OpenReference
from monitor.drift.border import SCREENED, tightest
from monitor.drift.border_run import first_tokens
from monitor.drift.border_scores import BorderInputs
from monitor.drift.border_stages import SCREENED_ALONE, Enrolling, FirstTokens, enrolling, watching, within
from monitor.store import enrolments
from monitor.store.beats import put_setting, setting
from monitor.store.enrolments import Window
from monitor.store.session import Sessions
from monitor.store.vocabulary import StreamTier
from probes import border
from probes.grammar import Draw
from probes.plan import Plan
from reference_engine import EngineError, ReferenceBackend

# Requests of a check while border inputs are looked for.
ENROLLING = 200
# They are found among answers of so long at most: a check a day takes a month.
REACH = timedelta(days=60)
# A reference that takes longer to say how nearly tied the prompts are says it of fewer.
_RANKED_WITHIN_S, _AT_ONCE = 60.0, 100

Asked = BorderInputs | Enrolling


@dataclass(frozen=True, slots=True)
class Pool:
    """The prompts of an installation, as the reference ranks them. `sessions`: where the ranking is kept; None: it is
    not."""

    reference: OpenReference
    seed: bytes
    sessions: Sessions | None

    def order(self) -> list[str]:
        """The prompts to screen: the tightest by the reference, any where it has no weights or does not answer."""
        engine, description = self.reference.engine, self.reference.description
        names = list(border.pool(self.seed))
        if engine is None or description is None:
            return names[:SCREENED_ALONE]
        facts = (description.weights_sha256, description.tokenizer_sha256, description.template_sha256)
        text = "\n".join([*facts, self.reference.allowed[0], border.VERSION, *names])
        key = f"border:{hashlib.sha256(text.encode()).hexdigest()}"
        if (kept := self._kept(key)) is not None:
            return kept
        try:
            with self.reference.turn:
                found = _ranked(engine, self.reference.allowed[0], self.seed)
        except EngineError:
            return names[:SCREENED_ALONE]
        if self.sessions is not None:
            with self.sessions.write() as session:
                put_setting(session, key, {"order": found}, clock.now())
        return found

    def _kept(self, key: str) -> list[str] | None:
        if self.sessions is None:
            return None
        with self.sessions.read() as session:
            kept = setting(session, key)
        return None if kept is None else [str(name) for name in kept["order"]]


def nothing_known(seed: bytes) -> Enrolling:
    """Of an endpoint that answered nothing yet, and without a reference."""
    return enrolling(list(border.pool(seed))[:SCREENED_ALONE], FirstTokens())


def asked_of(pool: Pool, endpoint_id: str | None, at: datetime) -> Asked:
    """Of an endpoint whose border inputs are enrolled these; else what is missing to find them. endpoint_id: None where
    nothing is stored of it."""
    if pool.sessions is None or endpoint_id is None:
        return enrolling(pool.order(), FirstTokens())
    with pool.sessions.read() as session:
        inputs = enrolments.current_border(session, endpoint_id)
        # Another release may draw other prompts.
        if inputs is not None and {one.prompt for one in inputs.inputs} <= border.pool(pool.seed).keys():
            return inputs
        closed = enrolments.closed_at(session, endpoint_id, tier=StreamTier.BORDER)
        since = at - REACH if closed is None else max(at - REACH, closed)
        answers = enrolments.first_tokens_in(session, Window(endpoint_id, border.VERSION, since, at))
    found = enrolling(pool.order(), first_tokens(answers))
    return found.found if isinstance(found.found, BorderInputs) else found


def border_plan(seed: bytes, nonce: bytes, asked: Asked, *, n: int, room: int | None, part: float) -> Plan:
    """`n` requests of the border inputs; while there are none, 200 to find them, or the `part` of these. room: so many
    requests fit into a check's time beside the others, None for any number."""
    if isinstance(asked, BorderInputs):
        draw = Draw(seed, "border-round", border.VERSION, nonce)
        return border.plan(seed, watching(asked, n, draw.shuffled))
    most = max(1, int(ENROLLING * part))
    return border.plan(seed, within(asked.asks, most if room is None else max(1, min(most, room))))


def _ranked(engine: ReferenceBackend, profile: str, seed: bytes) -> list[str]:
    pool, ends = border.pool(seed), clock.monotonic() + _RANKED_WITHIN_S
    names, gaps = list(pool), list[float]()
    for first in range(0, len(names), _AT_ONCE):
        if gaps and clock.monotonic() > ends:
            break
        some = [pool[name] for name in names[first : first + _AT_ONCE]]
        gaps += _gaps(engine, profile, some)
    return [names[place] for place in tightest(np.array(gaps), SCREENED).tolist()]


def _gaps(engine: ReferenceBackend, profile: str, prompts: Sequence[border.BorderPrompt]) -> list[float]:
    """Nats between the two likeliest first tokens."""
    ids = [engine.render(border.messages_of(prompt)).ids for prompt in prompts]
    return [one.top[0][1] - one.top[1][1] for one in engine.next_tokens(ids, top_k=2, profile=profile)]
