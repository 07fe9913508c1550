"""Agent loops of several turns against the server: it takes its own calls back, and what they brought."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from probes.client import Client
from probes.loops.exercise import Exercise
from probes.loops.fault import FaultKind, fault_for
from probes.loops.loop import Arm, Loop, Settings
from probes.loops.runs import LoopRun
from probes.loops.scenarios import task
from probes.quirks import Disposition
from probes.target import Target
from reference_engine.interface import Message, Rendered, Tool
from tests.endpoints.tool_caller import Said
from tests.probes.loops.agents import diligent
from tests.probes.loops.holding import run_loops
from tests.reference_engine.server.conftest import StartServer
from tests.reference_engine.server.tiny_backend import TinyBackend


@dataclass
class Clerk(TinyBackend):
    """Writes, token by token, what a diligent agent says to the conversation rendered last."""

    context_length: int = 10**6

    def render(self, messages: Sequence[Message], tools: Sequence[Tool] | None = None, **how: Any) -> Rendered:
        said = diligent({"messages": messages, "tools": tools})
        self.script = _written(said).encode()
        return super().render(messages, tools, **how)


def _written(said: Said) -> str:
    calls = [f'<tool_call>\n{{"name": "{name}", "arguments": {text}}}\n</tool_call>' for name, text in said.calls]
    return "\n".join(calls) or said.content or ""


@pytest.mark.parametrize(
    ("scenario", "kind", "arm", "stream"),
    [
        ("stores", FaultKind.SWAPPED, Arm.OWN_IDS, True),
        ("tickets", FaultKind.EMPTY, Arm.CANONICAL_IDS, False),
    ],
)
def test_an_agent_can_do_its_work_through_the_server(
    start_server: StartServer, scenario: str, kind: FaultKind, arm: Arm, stream: bool
) -> None:
    made = task(b"seed", scenario, 2)
    loop = Loop(Exercise(made, fault_for(made, kind, b"seed")), arm, stream=stream)
    url = start_server(Clerk())

    async def run() -> LoopRun:
        async with Client(Target(f"{url}/v1", "tiny", allow_private=True)) as client:
            (done,) = await run_loops(client, [loop], Settings())
            return done

    done = asyncio.run(run())

    assert (done.result.passed, done.result.steps_ratio, done.result.struck) == (True, 1.0, True)
    assert {sample.completion.disposition for sample in done.samples if sample.completion} == {Disposition.ACCEPT}
