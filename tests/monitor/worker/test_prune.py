from __future__ import annotations

from datetime import timedelta

from monitor import clock
from monitor.store.tables import Evidence, MetricPoint, MetricRollup, Observation, Sample, SampleBody
from monitor.worker.execute import execute
from monitor.worker.prune import prune
from tests.endpoints.scripted_model import ScriptedModel
from tests.endpoints.server import ScriptedServer
from tests.reliability.service import N, Service

DAY = timedelta(days=1)


def test_what_is_old_goes_and_what_was_found_stays(service: Service) -> None:
    with ScriptedServer(ScriptedModel()) as endpoint, service.context() as context:
        endpoint_id = service.configure(endpoint.base_url, retention={"bodies": "2d", "samples": "5d"})
        for check_id in service.enqueue(endpoint_id, "enrolment", "second", ring=False):
            execute(context, check_id)
        points = service.count(MetricPoint)
        assert points > 0

        prune(context, clock.now() + DAY)
        assert service.count(SampleBody) == service.count(Sample) == 2 * N
        prune(context, clock.now() + 3 * DAY)
        assert (service.count(SampleBody), service.count(Sample)) == (0, 2 * N)
        kept = service.count(Evidence), service.count(Observation), service.count(MetricRollup)
        prune(context, clock.now() + 6 * DAY)

        assert (service.count(Sample), service.count(MetricPoint)) == (0, 0)
        assert (service.count(Evidence), service.count(Observation), service.count(MetricRollup)) == kept
