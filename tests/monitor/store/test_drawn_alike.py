"""Which accepted answers belong to cases that were drawn alike, and which of the reference's go with them."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from monitor.store import Enrol, Join, ReferenceIdentity, RunResult, RunStatus, Store
from probes.plan import ProbeKind
from probes.tools.scored import Scored
from tests.monitor.drift.scored_answers import scored
from tests.monitor.store.material import AT, REFERENCE, identity, start

OTHER = ReferenceIdentity("f" * 64, "reference-engine", "2", ("bf16",))


def accepted(
    store: Store, endpoint_id: str, hour: int, version: str, ours: list[Scored], theirs: list[Scored], **of: object
) -> None:
    at = AT + timedelta(hours=hour)
    begun = replace(start(endpoint_id, ProbeKind.TOOL_CALLS, **of), suite_version=version)  # type: ignore[arg-type]
    baseline = store.active_baseline(endpoint_id, ProbeKind.TOOL_CALLS)
    change = Enrol() if baseline is None else Join(baseline.id)
    kept = RunResult(RunStatus.SUCCEEDED, scored=ours, reference_scored=theirs, baseline=change)
    store.finish_run(store.begin_run(begun, at=at), kept, at=at)


def test_answers_are_told_apart_by_how_their_cases_were_drawn_and_the_references_by_who_it_was(tmp_path: Path) -> None:
    week, again, other = [scored("a"), scored("b")], [scored("a"), scored("a", rep=1)], [scored("c")]
    wrong = [replace(one, right=False) for one in again]
    with Store.open(tmp_path / "monitor.db", at=AT) as store:
        endpoint_id = store.ensure_endpoint(identity(), at=AT).id
        accepted(store, endpoint_id, 0, "1-one", week, week)
        accepted(store, endpoint_id, 1, "1-one", again, wrong)
        accepted(store, endpoint_id, 2, "1-other", other, other)
        accepted(store, endpoint_id, 3, "1-one", other, other, reference=OTHER)
        baseline = store.active_baseline(endpoint_id, ProbeKind.TOOL_CALLS)
        assert baseline is not None

        assert store.baseline_drawn_alike(baseline.id, "1-one") == ([*week, *again, *other], other)
        assert store.baseline_drawn_alike(baseline.id, "2-one") == ([], [*week, *again, *other, *other])
        # Of each item and repeat the first.
        assert store.baseline_reference_scored(baseline.id, "1-one", REFERENCE.fingerprint) == [*week, wrong[1]]
        assert store.baseline_reference_scored(baseline.id, "1-one", OTHER.fingerprint) == other
