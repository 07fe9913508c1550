"""The way from a changed stack to an alert, through the queue, with the bundled model as its own reference."""

from __future__ import annotations

import pytest
from sqlalchemy import select

from monitor.drift.evidence import StreamKey, Tier
from monitor.drift.rule import Verdict
from monitor.drift.score_stream import ScoreStream
from monitor.drift.single_use import NAME as SINGLE_USE
from monitor.local_endpoint import LocalEndpoint
from monitor.store import CheckEntry, Trigger
from monitor.store.streams import Streams
from monitor.store.tables import Alert, Baseline, BaselineRun, EndpointCheck, Run, Sample
from monitor.worker.context import Context
from monitor.worker.execute import execute
from tests.reliability.service import Service

pytestmark = [pytest.mark.model, pytest.mark.soak]

OPTIONS = {"probes": ["logprobs"], "n": 20}
REFERENCE = {"reference": {"weights": "bundled", "allowed_profiles": ["bf16"]}}


def made(service: Service, context: Context, endpoint_id: str, key: str) -> CheckEntry:
    (check_id,) = service.enqueue(endpoint_id, key, options=OPTIONS, ring=False)
    execute(context, check_id)
    return service.entry(check_id)


def waiting(service: Service) -> list[str]:
    with service.store.sessions.read() as session:
        return list(session.scalars(select(EndpointCheck.id).where(EndpointCheck.status == "queued")))


def test_a_drift_is_confirmed_on_fresh_prompts_and_then_alerts(service: Service) -> None:
    with LocalEndpoint(service.folder / "endpoint.log") as local, service.context() as context:
        local.serve(("--profile", "bf16"))
        endpoint_id = service.configure(local.base_url, entry={"name": "smol"}, models={"lark": REFERENCE})
        assert made(service, context, endpoint_id, "enrolment").enrolled
        local.serve(("--profile", "w4-g64"))

        screened = made(service, context, endpoint_id, "changed")
        (confirming,) = waiting(service)
        execute(context, confirming)

        assert screened.verdict is Verdict.DRIFT
        # Twice, as a confirming check feeds nothing.
        streams = Streams(service.store.sessions).states(endpoint_id).streams
        singles = streams[StreamKey(endpoint_id, Tier.LOGPROBS, SINGLE_USE)].process
        assert isinstance(singles, ScoreStream)
        assert [len(singles.past), singles.past[1].score > 2.0 * singles.past[0].score] == [2, True]
        confirmed = service.entry(confirming)
        assert (confirmed.trigger, confirmed.confirms) == (Trigger.CONFIRM, screened.id)
        assert confirmed.verdict is Verdict.DRIFT
        with service.store.sessions.read() as session:
            assert session.scalars(select(Alert.state).where(Alert.metric == "logprobs")).all() == ["firing"]
            anchors = (
                select(Sample.id).join(Run, Run.id == Sample.run_id).where(Run.check_id == confirming, Sample.anchor)
            )
            assert session.scalars(anchors).all() == []
            members = select(BaselineRun.run_id).join(Baseline).where(Baseline.endpoint_id == endpoint_id)
            assert len(session.scalars(members).all()) == 1
        assert waiting(service) == []
