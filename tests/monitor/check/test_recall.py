"""What an earlier attempt of a check has found is told again as it was, without a request."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from monitor import clock
from monitor.check.ask import Limits, Manner
from monitor.check.budget import Budget
from monitor.check.identity import identity_of
from monitor.check.ledger import Ledger
from monitor.check.options import CheckOptions, Silent
from monitor.check.plans import Drawn, affordable_plans
from monitor.check.recall import own_detail, said_of, with_said
from monitor.check.reference import OpenReference
from monitor.check.run import Work, asked_and_judged
from monitor.config import EndpointConfig
from monitor.store import CheckRequest, Queue, Store, Trigger
from monitor.verdict import (
    ParameterValue,
    ProtocolStatement,
    RateValue,
    Said,
    VariantRates,
    VariantShare,
    VerdictDocument,
)
from probes.parameters.judgement import Effect
from probes.plan import ProbeKind
from tests.endpoints.server import ScriptedServer
from tests.endpoints.spoken import Spoken
from tests.monitor.check.test_protocol import endpoint_of
from tests.monitor.store.material import evidence

OPTIONS = CheckOptions(probes=(ProbeKind.PROTOCOL,))
REFERENCE = OpenReference(None, None, (), None)

numbers = st.floats(0, 1, allow_nan=False)
ends = st.none() | st.tuples(numbers, numbers)
counts = st.dictionaries(st.text(), st.integers())
rates = st.builds(RateValue, name=st.text(), value=st.none() | numbers, interval=ends, excluded=counts)
shares = st.builds(VariantShare, variant=st.text(), share=numbers, interval=ends)
told = st.builds(
    Said,
    rates=st.lists(rates, max_size=2).map(tuple),
    variants=st.lists(st.builds(VariantRates, interval=ends, rates=st.tuples(rates)), max_size=2).map(tuple),
    parameters=st.tuples(st.builds(ParameterValue, effect=st.sampled_from(Effect), error=st.none() | numbers)),
    protocol=st.none() | st.builds(ProtocolStatement, variants=st.tuples(shares)),
)


@settings(max_examples=25)
@given(told)
def test_what_is_said_comes_back_and_is_no_detectors_own(said: Said) -> None:
    kept = with_said([evidence(), evidence("fidelity")], said)

    assert said_of(kept) == said
    assert [own_detail(one) for one in kept] == [{"seed": 7}, {"seed": 7}]


def attempt(store: Store, endpoint: EndpointConfig, check_id: str, *, hours: int) -> VerdictDocument:
    """One attempt at the check, whose owner is gone before it concludes."""
    at = clock.now() + timedelta(hours=hours)
    claimed = Queue(store.sessions).claim(check_id, f"worker {hours}", at)
    assert claimed is not None
    record = store.ensure_endpoint(identity_of(endpoint), at=at)
    drawn = Drawn(bytes(32), bytes(16), at)
    planned, estimate = affordable_plans(OPTIONS, drawn, tokenizer=None, has_reference=False, prices=None)
    manner = Manner(Limits(None, Budget(), None, estimate.sizes))
    work = Work(endpoint, OPTIONS.probes, planned, manner)
    return asked_and_judged(work, REFERENCE, Ledger.leased(store, record, claimed), Silent()).document


def test_a_second_attempt_says_all_that_the_first_one_did(tmp_path: Path) -> None:
    with (
        ScriptedServer(Spoken()) as server,
        Store.open(tmp_path / "monitor.db", at=clock.now()) as store,
    ):
        endpoint = endpoint_of(server.base_url, tmp_path)
        record = store.ensure_endpoint(identity_of(endpoint), at=clock.now())
        (entry,) = Queue(store.sessions).enqueue(
            [CheckRequest("one", record.id, Trigger.API, clock.now(), OPTIONS.to_json())], clock.now()
        )
        first = attempt(store, endpoint, entry.id, hours=0)
        asked = len(server.received)

        again = attempt(store, endpoint, entry.id, hours=1)

        assert len(server.received) == asked
    assert first.protocol is not None
    assert len(first.parameters) > 5
    later = {"started_at": again.started_at, "finished_at": again.finished_at}
    assert first.model_copy(update=later) == again
