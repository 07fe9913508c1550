"""Border inputs of an endpoint over HTTP: found check by check, then watched."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import select

from monitor import clock
from monitor.check import border as checked
from monitor.check.border import Pool, asked_of, border_plan, nothing_known
from monitor.check.options import CheckOptions, Silent
from monitor.check.plans import Drawn, Extent, make_plans
from monitor.check.reference import OpenReference, open_reference
from monitor.check.run import run_check
from monitor.config import ReferenceConfig
from monitor.datadir import DataDir
from monitor.drift import border_stages
from monitor.drift.border import ASKS, CANDIDATES, SCREENING_ASKS
from monitor.drift.border_scores import BorderInput, BorderInputs
from monitor.drift.border_stages import SCREENED_ALONE, Enrolling
from monitor.drift.evidence import Tier
from monitor.drift.rule import Verdict
from monitor.store import Store
from monitor.store.streams import Streams
from monitor.store.tables import Enrolment
from monitor.verdict import VerdictDocument
from probes import border
from probes.plan import ProbeKind
from tests.endpoints.scripted_model import ScriptedModel
from tests.endpoints.server import ScriptedServer
from tests.monitor.check.test_protocol import endpoint_of

OPTIONS = CheckOptions(probes=(ProbeKind.BORDER,), n=20)
SEED = b"border" * 6


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fewer prompts, and more of them a check; nothing else is."""
    monkeypatch.setattr(checked, "SCREENED_ALONE", 200)
    monkeypatch.setattr(checked, "ENROLLING", 1_000)
    monkeypatch.setattr(border_stages, "CANDIDATES", 14)


@pytest.mark.usefixtures("small")
def test_border_inputs_are_found_watched_and_another_model_is_seen_without_log_probabilities(tmp_path: Path) -> None:
    data, model = DataDir(tmp_path / "data"), ScriptedModel(noise=0.15, logprobs=False)
    with ScriptedServer(model) as server:
        endpoint = endpoint_of(server.base_url, tmp_path)
        finding = [run_check(endpoint, OPTIONS, data, Silent())]
        while finding[-1].cost.requests != OPTIONS.n:
            finding.append(run_check(endpoint, OPTIONS, data, Silent()))
            assert len(finding) < 9, finding[-1].checks
        watched = [finding.pop(), *(run_check(endpoint, OPTIONS, data, Silent()) for _ in range(2))]
        model.change = 60.0
        changed = run_check(endpoint, OPTIONS, data, Silent())

    assert finding[0].enrolled
    assert all(said(one).startswith("finding border inputs, ") for one in finding)
    assert "screening: 0 of 600" in said(finding[0])
    assert {one.verdict for one in (*finding, *watched)} == {Verdict.INCONCLUSIVE}
    assert all(abs(one.checks[0].value or 0.0) < 0.4 for one in watched)
    check = changed.checks[0]
    assert (check.probe, check.verdict, check.n) == ("border", Verdict.DRIFT, 20)
    assert (check.value or 0.0) > 0.4
    with Store.open(data.database, at=clock.now()) as store:
        (record,) = store.endpoints()
        streams = Streams(store.sessions).states(record.id).streams
        with store.sessions.read() as session:
            (row,) = session.scalars(select(Enrolment))
    inputs = BorderInputs.from_json(row.body)
    assert (row.tier, row.closed_at, row.suite_version) == ("T2", None, border.VERSION)
    assert len(inputs.inputs) >= 10
    assert {one.prompt for one in inputs.inputs} <= border.pool(data.seed()).keys()
    (key,) = (key for key in streams if key.tier is Tier.BORDER)
    assert key.probe_set == inputs.probe_set


@pytest.mark.usefixtures("small")
def test_an_endpoint_whose_answers_never_vary_is_told_so_and_asked_no_more(tmp_path: Path) -> None:
    data = DataDir(tmp_path / "data")
    with ScriptedServer(ScriptedModel(noise=0.0)) as server:
        endpoint = endpoint_of(server.base_url, tmp_path)
        _, done, again = (run_check(endpoint, OPTIONS, data, Silent()) for _ in range(3))

    for document in (done, again):
        (check,) = (one for one in document.checks if one.probe == "border")
        assert (check.verdict, document.cost.requests) == (Verdict.INAPPLICABLE, 0)
        assert "none of 200 prompts varies" in check.reason


def test_a_check_that_keeps_nothing_asks_as_the_first_one_does(tmp_path: Path) -> None:
    with ScriptedServer(ScriptedModel()) as server:
        options = CheckOptions(probes=(ProbeKind.BORDER,), save=False)
        document = run_check(endpoint_of(server.base_url, tmp_path), options, DataDir(tmp_path / "data"), Silent())

    assert document.cost.requests == checked.ENROLLING
    assert not document.saved
    assert not (tmp_path / "data").exists()


def test_the_reference_says_which_prompts_are_nearly_tied_and_is_asked_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(border, "POOL", 120)
    monkeypatch.setattr(checked, "SCREENED", 30)
    names, data = list(border.pool(SEED)), DataDir(tmp_path / "data")
    data.seed()
    config = ReferenceConfig(weights="bundled", tokenizer=None, allowed_profiles=("fp32",))
    with (
        Store.open(data.database, at=clock.now()) as store,
        open_reference(config) as reference,
    ):
        order = Pool(reference, SEED, store.sessions).order()
        engine = reference.engine
        assert engine is not None
        ids = [engine.render(border.messages_of(border.pool(SEED)[name])).ids for name in names]
        tops = [one.top for one in engine.next_tokens(ids, top_k=2, profile="fp32")]
        gaps = {name: top[0][1] - top[1][1] for name, top in zip(names, tops, strict=True)}
        monkeypatch.setattr(checked, "_gaps", None)  # it would be called
        assert Pool(reference, SEED, store.sessions).order() == order

    assert len(names) == 120
    assert order == sorted(names, key=lambda name: gaps[name])[:30]


def test_requests_that_fit_beside_the_others_are_as_many_as_the_rate_allows() -> None:
    asked = nothing_known(SEED)

    assert len(border_plan(SEED, b"n", asked, n=10, room=None, part=1.0).items) == checked.ENROLLING
    assert len(border_plan(SEED, b"n", asked, n=10, room=None, part=0.5).items) == checked.ENROLLING / 2
    assert len(border_plan(SEED, b"n", asked, n=10, room=40, part=1.0).items) == 40
    assert len(border_plan(SEED, b"n", asked, n=10, room=-5, part=1.0).items) == 1


def test_a_confirming_check_asks_border_inputs_and_looks_for_none() -> None:
    options = CheckOptions(probes=(ProbeKind.BORDER,), n=10, confirms=True)
    names = list(border.pool(SEED))[:20]
    inputs = BorderInputs(tuple(BorderInput(name, (b"a",), (100,)) for name in names))

    def plans(asked: BorderInputs | None) -> list[int]:
        drawn = Drawn(SEED, b"n", clock.now(), border=asked)
        made = make_plans(options, drawn, has_reference=False, extent=Extent(options.n))
        return [len(plan.items) for plan in made.plans]

    assert plans(None) == []
    assert plans(inputs) == [10]


def test_without_a_database_everything_is_missing() -> None:
    asked = asked_of(Pool(OpenReference(None, None, (), None), SEED, None), None, clock.now())

    assert isinstance(asked, Enrolling)
    assert asked == nothing_known(SEED)


def said(document: VerdictDocument) -> str:
    (check,) = (one for one in document.checks if one.probe == "border")
    return check.reason


@pytest.mark.parametrize("a_day", [1, 4, 24])
def test_a_check_a_day_finds_them_before_its_first_answers_are_forgotten(a_day: int) -> None:
    most = SCREENING_ASKS * SCREENED_ALONE + ASKS * CANDIDATES

    assert timedelta(days=most / checked.ENROLLING / a_day) < checked.REACH
