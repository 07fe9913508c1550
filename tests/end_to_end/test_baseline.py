"""What was found stays to be looked up, and a person decides what an endpoint is compared with from now on."""

from __future__ import annotations

from monitor.drift.rule import Verdict
from monitor.store import BaselineStatus, RunStatus
from tests.endpoints.scripted_model import NOISE, ScriptedModel
from tests.endpoints.server import ScriptedServer
from tests.installation import QUICK, Installation


def test_an_accepted_change_is_the_new_normal_until_a_reset(enrolled: Installation) -> None:
    with ScriptedServer(ScriptedModel(noise=NOISE, change=0.2)) as server:
        enrolled.configure(server.base_url)
        caught = enrolled.probe("--json", *QUICK)
        history = enrolled.run("history", "--provider", "x", "--json")
        accepted = enrolled.run("baseline", "accept", "--provider", "x", "--note", "they announced fp8")
        calm = enrolled.probe("--json", *QUICK)
        reset = enrolled.run("baseline", "reset", "--provider", "x", "--note", "a new contract")
        again = enrolled.probe("--json", *QUICK)
        shown = enrolled.run("baseline", "show", "--provider", "x", "--json")

    assert (caught.code, caught.document["verdict"]) == (3, "drift")
    assert [item["verdict"] for item in history.document["items"]] == ["drift", "inconclusive"]
    assert [item["enrolled"] for item in history.document["items"]] == [False, True]
    assert history.document["items"][0]["runs"][0]["run_id"] == caught.document["run_ids"][0]
    assert history.document["items"][0]["drift_p"] <= 1e-4
    assert (accepted.code, caught.document["run_ids"][0] in accepted.out) == (0, True)
    assert (calm.code, calm.document["verdict"]) == (0, "ok")
    assert reset.code == 0
    assert (again.code, again.document["enrolled"]) == (0, True)
    items = shown.document["items"]
    assert [(item["version"], item["status"], item["note"]) for item in items] == [
        (1, "closed", None),
        (2, "closed", "they announced fp8"),
        (3, "active", None),
    ]
    assert [(entry.status, entry.verdict, entry.enrolled) for entry in enrolled.entries()] == [
        (RunStatus.SUCCEEDED, Verdict.INCONCLUSIVE, True),
        (RunStatus.SUCCEEDED, Verdict.OK, False),
        (RunStatus.SUCCEEDED, Verdict.DRIFT, False),
        (RunStatus.SUCCEEDED, Verdict.INCONCLUSIVE, True),
    ]
    assert all(entry.done == entry.planned > 0 for entry in enrolled.entries())
    assert [baseline.status for baseline in enrolled.baselines()] == [
        BaselineStatus.CLOSED,
        BaselineStatus.CLOSED,
        BaselineStatus.ACTIVE,
    ]
