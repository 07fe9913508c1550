"""Checks of a scripted endpoint over HTTP by every probe, with the past that they are compared with in a database."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import yaml

from monitor.check.ask import Limits, Manner
from monitor.check.budget import Budget
from monitor.check.eval_suite import EvalSuite, eval_plan
from monitor.check.ledger import Ledger
from monitor.check.options import CheckOptions, Silent
from monitor.check.own import OwnCheck
from monitor.check.plans import Drawn, Extent, Planned, estimate_plans, make_plans
from monitor.check.reference import OpenReference
from monitor.check.run import Work, asked_and_judged
from monitor.check.tool_calls import tool_plan
from monitor.config import EndpointConfig, load_config
from monitor.datadir import DataDir
from monitor.drift.rule import Verdict
from monitor.verdict import VerdictDocument
from probes.errors import ProbeError
from probes.evals.item import EvalItem, Grader, GraderKind
from probes.plan import ProbeKind
from tests.endpoints import hostile
from tests.endpoints.agent import Agent
from tests.endpoints.knowing import Knowing
from tests.endpoints.server import Connection, Handler, Received, ScriptedServer
from tests.endpoints.wire import Wire
from tests.mutation.survey import REFERENCE, SEED, tokens_in

AT = datetime(2026, 11, 25, 12, tzinfo=UTC)
SINGLES = 32
# All cases of the week, about once each.
PART = 0.2
_PROBES = (ProbeKind.LOGPROBS, ProbeKind.ACCOUNTING, ProbeKind.LATENCY, ProbeKind.TOOL_CALLS, ProbeKind.PROTOCOL)
_FOUND = (Verdict.DRIFT, Verdict.SUSPECT)
# How soon the pieces of a stream come is the machine's doing.
_OF_THE_CLOCK = {"BUFFERED_TOKENS"}


def _sum(number: int) -> EvalItem:
    asked = f"What is {number} plus {7 * number}? Say the number alone."
    request = {"messages": [{"role": "user", "content": asked}], "max_tokens": 9, "temperature": 0}
    return EvalItem(request, Grader(GraderKind.NUMBER), 8 * number)


SUITE = EvalSuite("sums", 1, "5" * 64, tuple(map(_sum, range(11, 71))))


@dataclass(frozen=True)
class Said:
    """What a whole check says. `moved` are features of the stack; `ended` is the code of what ended the asking."""

    checks: Mapping[str, Verdict] = field(default_factory=dict)
    quirks: frozenset[str] = frozenset()
    moved: frozenset[str] = frozenset()
    ended: str | None = None
    documents: tuple[VerdictDocument, ...] = ()

    @classmethod
    def of(cls, *documents: VerdictDocument) -> Said:
        checks = {check.probe: check.verdict for one in documents for check in one.checks}
        statement = next(one.protocol for one in documents if one.protocol is not None)
        return cls(
            {**checks, "fidelity": documents[0].fidelity.verdict},
            frozenset(one.name for each in documents for one in each.quirks) - _OF_THE_CLOCK,
            frozenset(one.feature for one in statement.moved),
            documents=documents,
        )

    @property
    def red(self) -> set[str]:
        return {name for name, verdict in self.checks.items() if verdict in _FOUND}

    def rate(self, name: str) -> float | None:
        return next(one.value for document in self.documents for one in document.rates if one.name == name)


@dataclass
class Switched:
    """One address, behind which a test puts what it likes."""

    handler: Handler | None = None

    async def __call__(self, received: Received, connection: Connection) -> None:
        assert self.handler is not None
        await self.handler(received, connection)


@dataclass(frozen=True)
class Watched:
    """An endpoint, and what is known of its past."""

    behind: Switched
    config: EndpointConfig
    data: DataDir

    @classmethod
    def made(cls, server: ScriptedServer, folder: Path) -> Watched:
        file = folder / "providers.yaml"
        provider = {
            "slug": "x",
            "base_url": server.base_url,
            "allow_private": True,
            "limits": {"max_concurrency": 16},
            "models": [{"model": "lark", "name": "acme/lark-30b"}],
        }
        file.write_text(yaml.safe_dump({"version": 1, "models": {"lark": {}}, "providers": [provider]}))
        (config,) = load_config(file).endpoints("x")
        assert isinstance(server.handler, Switched)
        data = DataDir(folder / "data")
        data.create()
        return cls(server.handler, config, data)

    def copied(self, folder: Path) -> Watched:
        shutil.copytree(self.data.path, folder / "data")
        return Watched(self.behind, self.config, DataDir(folder / "data"))

    def check(self, handler: Handler, nonce: int) -> Said:
        """By all probes, then by a private suite, which is always asked alone."""
        self.behind.handler = handler
        try:
            return Said.of(*(self._checked(planned, bytes([nonce]) * 16) for planned in (_probes, _suite)))
        except ProbeError as error:
            return Said(ended=error.code)

    def _checked(self, plan: Callable[[Drawn], Planned], nonce: bytes) -> VerdictDocument:
        with Ledger.saving(self.data, self.config, timedelta(days=1), OwnCheck(nonce, AT)) as ledger:
            planned = plan(Drawn(SEED, nonce, AT, ledger.capabilities))
            manner = Manner(Limits(None, Budget(), None, estimate_plans(planned.plans, None, None).sizes))
            probes = _PROBES if planned.evals is None else (ProbeKind.EVALS,)
            reference = OpenReference(None, REFERENCE, (), None)
            done = asked_and_judged(Work(self.config, probes, planned, manner), reference, ledger, Silent())
            ledger.conclude(done.status, verdict=done.document.verdict, enrolled=done.document.enrolled)
            return done.document


def _probes(drawn: Drawn) -> Planned:
    """As a check has them, but of tool calls each case about once rather than an eighth of the cases five times."""
    others = CheckOptions(probes=tuple(kind for kind in _PROBES if kind is not ProbeKind.TOOL_CALLS))
    made = make_plans(others, drawn, has_reference=False, extent=Extent(SINGLES), tokenizer=REFERENCE)
    tools = tool_plan(drawn.seed, drawn.nonce, drawn.at, whole=True, part=PART)
    return Planned((tools.plan, *made.plans), drawn.nonce, tools)


def _suite(drawn: Drawn) -> Planned:
    evals = eval_plan(SUITE)
    return Planned((evals.plan,), drawn.nonce, evals=evals)


def chats(agent: Agent) -> Handler:
    """An agent that is asked for chats, and refuses plain completions."""

    async def handler(received: Received, connection: Connection) -> None:
        if received.path.endswith("/v1/completions"):
            await connection.reply(404, hostile.error("There is no such path."))
        else:
            await agent(received, connection)

    return handler


@cache
def knowing() -> Knowing:
    return Knowing(SEED, AT)


def endpoint(wire: Wire | None = None) -> Handler:
    """Right in everything but what `wire` changes."""
    return chats(Agent(knowing(), wire or Wire(), count=tokens_in))
