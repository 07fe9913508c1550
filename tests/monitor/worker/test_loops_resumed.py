"""Agent loops that a worker puts down in the middle: another goes on with the turn that is due."""

from __future__ import annotations

import asyncio

from sqlalchemy import select

from monitor.store.tables import MetricPoint, Sample
from monitor.worker.execute import execute
from tests.endpoints.server import Connection, Received, ScriptedServer
from tests.endpoints.tool_caller import ToolCaller
from tests.probes.loops.agents import diligent
from tests.reliability.service import Service

OPTIONS = {"probes": ["agent_loops"], "max_requests": 160}
# All of the scripted arm, and a third of the free one.
STOPS_AT = 90


def test_loops_go_on_where_they_stood_and_no_turn_is_paid_twice(service: Service) -> None:
    agent, hung = ToolCaller(diligent), list[Received]()
    with service.context() as first, service.context() as second:

        async def handler(received: Received, connection: Connection) -> None:
            if going_on is first and len(server.received) >= STOPS_AT:
                first.stop.put_up()
                hung.append(received)
                await asyncio.Event().wait()
            await agent(received, connection)

        with ScriptedServer(handler) as server:
            going_on = first
            endpoint_id = service.configure(server.base_url)
            (check_id,) = service.enqueue(endpoint_id, "loops", options=OPTIONS, ring=False)
            execute(first, check_id)
            put_down = service.entry(check_id)
            going_on = second
            execute(second, check_id)

    planned = put_down.planned
    assert (put_down.status.finished, planned > STOPS_AT) == (False, True)
    assert service.entry(check_id).enrolled
    assert service.samples(check_id) == (planned, planned)
    assert len(server.received) == planned + len(hung)
    with service.store.sessions.read() as session:
        points = {point.metric: (point.value, point.n) for point in session.scalars(select(MetricPoint))}
        assert session.scalars(select(Sample.item_key).where(Sample.item_key.like("loop-%turn-16"))).first()
    assert points["agent_loops.loop_pass"] == (1.0, 12)
