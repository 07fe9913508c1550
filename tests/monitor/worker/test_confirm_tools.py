"""What a check of tool calls suspects is asked again through the queue: the same cases, other words, twice as often."""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import select

from monitor import clock
from monitor.drift.stages import STAGE
from monitor.store import CheckEntry, Trigger
from monitor.store.tables import EndpointCheck, Evidence, Run, Sample
from monitor.worker.context import Context
from monitor.worker.execute import execute
from tests.endpoints.agent import Agent
from tests.endpoints.answers import Answer
from tests.endpoints.edits import says
from tests.endpoints.knowing import Knowing
from tests.endpoints.server import ScriptedServer
from tests.reliability.service import Service

pytestmark = pytest.mark.soak

OPTIONS = {"probes": ["tool_calls"], "max_requests": 120}


def silent(answer: Answer) -> Answer:
    return replace(answer, calls=(), content="I would rather not.") if answer.calls else answer


def made(service: Service, context: Context, check_id: str) -> CheckEntry:
    execute(context, check_id)
    return service.entry(check_id)


def items(service: Service, check_id: str) -> set[str]:
    with service.store.sessions.read() as session:
        asked = select(Sample.item_key).join(Run, Run.id == Sample.run_id).where(Run.check_id == check_id)
        return {key.partition("-")[0] for key in session.scalars(asked.where(Run.probe == "tool_calls"))}


def stages(service: Service, check_id: str) -> dict[str, str]:
    with service.store.sessions.read() as session:
        found = session.scalars(select(Evidence).join(Run, Run.id == Evidence.run_id).where(Run.check_id == check_id))
        return {one.metric: one.effect["detail"][STAGE] for one in found if STAGE in one.effect["detail"]}


def test_a_suspicion_is_confirmed_by_fresh_answers_to_the_same_cases(service: Service) -> None:
    with service.context() as context, ScriptedServer(agent := Agent(Knowing(context.seed, clock.now()))) as server:
        endpoint_id = service.configure(server.base_url)
        first, second = service.enqueue(endpoint_id, "first", "second", options=OPTIONS, ring=False)
        assert made(service, context, first).enrolled
        agent.wire = says(silent)
        made(service, context, second)
        with service.store.sessions.read() as session:
            (again,) = session.scalars(select(EndpointCheck.id).where(EndpointCheck.status == "queued"))
        entry = made(service, context, again)

    assert (entry.trigger, entry.confirms) == (Trigger.CONFIRM, second)
    assert stages(service, second)["tool_calls.trigger"] == "hit"
    assert stages(service, again)["tool_calls.trigger"] == "confirmed"
    assert "tool_calls.conformance" not in stages(service, again)
    assert items(service, again) <= items(service, second)
