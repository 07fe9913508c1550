"""`monitor probe` from end to end on an endpoint that stays the same, and on one that changes."""

from __future__ import annotations

from typing import Any
from xml.etree import ElementTree

import pytest

from monitor.store import BaselineRole, RunStatus
from probes.plan import ProbeKind
from tests.endpoints.scripted_model import NOISE, ScriptedModel
from tests.endpoints.server import ScriptedServer
from tests.installation import KEY, KEY_VARIABLE, QUICK, Installation, Ran


def check(document: Any, probe: str) -> Any:
    (found,) = [one for one in document["checks"] if one["probe"] == probe]
    return found


def probed(installation: Installation, model: ScriptedModel, *words: str) -> Ran:
    with ScriptedServer(model) as server:
        installation.configure(server.base_url)
        return installation.probe("--json", *words)


def test_the_first_run_enrols_and_says_so(enrolment: tuple[Installation, Ran]) -> None:
    installation, ran = enrolment

    assert (ran.code, ran.err) == (0, "")
    document = ran.document
    assert (document["schema"], document["verdict"], document["enrolled"]) == ("monitor.probe/1", "inconclusive", True)
    for probe in ("logprobs", "accounting"):
        assert (check(document, probe)["verdict"], check(document, probe)["reason"]) == ("inconclusive", "enrolled")
    assert document["fidelity"]["verdict"] == "inapplicable"
    assert document["cost"]["requests"] == 40
    (baseline,) = installation.baselines()
    assert [(member.run_id, member.role) for member in baseline.runs] == [
        (document["run_ids"][0], BaselineRole.ENROLMENT)
    ]
    assert KEY not in ran.out
    assert not installation.holds(KEY)


def test_an_unchanged_endpoint_is_ok_and_its_run_joins_the_baseline(enrolled: Installation) -> None:
    ran = probed(enrolled, ScriptedModel(noise=NOISE))

    assert (ran.code, ran.err) == (0, "")
    document = ran.document
    assert (document["verdict"], document["enrolled"]) == ("ok", False)
    assert [check(document, probe)["verdict"] for probe in ("logprobs", "accounting")] == ["ok", "ok"]
    assert check(document, "logprobs")["detectable"] <= check(document, "logprobs")["target"]
    latency = check(document, "latency")
    assert (latency["verdict"], latency["reason"], latency["n"]) == ("inconclusive", "reported", 8)
    medians = {value["metric"]: value["value"] for value in document["latency"] if value["quantile"] == 0.5}
    assert {"ttft", "tpot"} < medians.keys()
    assert None not in medians.values()
    (baseline,) = enrolled.baselines()
    assert [member.role for member in baseline.runs] == [BaselineRole.ENROLMENT, BaselineRole.ACCEPTED]


def test_a_changed_endpoint_is_drift_in_every_form_of_the_report(enrolled: Installation) -> None:
    junit, markdown = enrolled.folder / "report.xml", enrolled.folder / "report.md"

    ran = probed(enrolled, ScriptedModel(noise=NOISE, change=0.2), *QUICK, "--junit", str(junit), "--md", str(markdown))

    assert (ran.code, ran.err) == (3, "")
    document = ran.document
    found = check(document, "logprobs")
    assert (document["verdict"], found["verdict"]) == ("drift", "drift")
    assert found["p"] <= 1e-4
    assert found["interval"][0] < found["value"] < found["interval"][1]
    assert check(document, "accounting")["verdict"] == "ok"
    suite = ElementTree.parse(junit).getroot()
    assert (suite.get("failures"), suite.get("skipped")) == ("1", "1")
    assert [case.get("name") for case in suite.findall("testcase[failure]")] == ["logprobs"]
    assert markdown.read_text().startswith("## x / lark: DRIFT\n")
    (run,) = [run for run in enrolled.runs() if run.id in document["run_ids"]]
    assert (run.status, run.probe) == (RunStatus.SUCCEEDED, ProbeKind.LOGPROBS)
    (baseline,) = enrolled.baselines()
    assert run.id not in [member.run_id for member in baseline.runs]


def test_drift_shows_three_prompts_and_how_to_ask_again_without_the_key(enrolled: Installation) -> None:
    with ScriptedServer(ScriptedModel(noise=NOISE, change=0.2)) as server:
        enrolled.configure(server.base_url)
        ran = enrolled.probe(*QUICK, "--fail-on", "never")

    assert (ran.code, ran.err) == (0, "")
    assert "DRIFT in logprobs: the endpoint is not what it was" in ran.out
    assert ran.out.rstrip().endswith("exit 0")
    lines = [line.strip() for line in ran.out.splitlines()]
    for word in ("then ", "now "):
        assert sum(line.startswith(word) for line in lines) == 3
    commands = [line for line in lines if line.startswith("curl ")]
    assert len(commands) == 3
    assert all(f"{server.base_url}/chat/completions" in command for command in commands)
    assert all(f'"Authorization: Bearer ${KEY_VARIABLE}"' in command for command in commands)
    assert KEY not in ran.out


def test_more_prompt_tokens_are_drift_of_the_accounting(enrolled: Installation) -> None:
    ran = probed(enrolled, ScriptedModel(noise=NOISE, extra_prompt_tokens=3), *QUICK)

    assert ran.code == 3
    found = check(ran.document, "accounting")
    assert (found["verdict"], found["unit"]) == ("drift", "token")
    assert [shown["now"]["prompt_tokens"] - shown["then"]["prompt_tokens"] for shown in found["telling"]] == [3, 3, 3]
    assert check(ran.document, "logprobs")["verdict"] == "ok"


def test_without_log_probabilities_the_probe_is_inapplicable_and_nothing_passes(installation: Installation) -> None:
    ran = probed(installation, ScriptedModel(logprobs=False), "--probe", "logprobs")

    assert (ran.code, ran.err) == (4, "")
    document = ran.document
    assert (document["verdict"], document["enrolled"]) == ("inconclusive", False)
    found = check(document, "logprobs")
    assert (found["verdict"], found["reason"]) == ("inapplicable", "the endpoint gives no usable log-probabilities")
    assert document["quirks"] == [{"name": "LP_NULL", "count": 40}]
    assert installation.baselines() == []


def test_without_log_probabilities_accounting_still_watches(installation: Installation) -> None:
    first = probed(installation, ScriptedModel(logprobs=False), *QUICK)
    second = probed(installation, ScriptedModel(logprobs=False), *QUICK)
    third = probed(installation, ScriptedModel(logprobs=False, extra_prompt_tokens=1), *QUICK)

    assert (first.code, first.document["verdict"], first.document["enrolled"]) == (0, "inconclusive", True)
    assert (second.code, second.document["verdict"]) == (0, "ok")
    assert (third.code, third.document["verdict"]) == (3, "drift")
    for ran in (first, second, third):
        assert check(ran.document, "logprobs")["verdict"] == "inapplicable"


def test_an_endpoint_that_gives_five_alternatives_is_asked_for_five(installation: Installation) -> None:
    model = ScriptedModel(noise=NOISE, most_alternatives=5)
    with ScriptedServer(model) as server:
        installation.configure(server.base_url)
        first = installation.probe("--json", *QUICK)
        asked = [request.json["top_logprobs"] for request in server.received]
        second = installation.probe("--json", *QUICK)
        asked_later = [request.json["top_logprobs"] for request in server.received[len(asked) :]]

    assert asked == [20, *[5] * 40]
    assert asked_later == [5] * 40
    assert (first.code, first.document["enrolled"]) == (0, True)
    assert (second.code, second.document["verdict"]) == (0, "ok")


def test_a_response_cache_is_not_taken_for_a_quiet_endpoint(installation: Installation) -> None:
    """Repeats from a cache show no noise: what the next run's answers differ by must not look like a change."""
    first = probed(installation, ScriptedModel(noise=0.05, caches=True), *QUICK)
    second = probed(installation, ScriptedModel(noise=0.05, caches=True, answered=1000), *QUICK)

    assert (first.code, first.document["enrolled"]) == (0, True)
    assert (second.code, second.document["verdict"]) == (0, "ok")
    found = check(second.document, "logprobs")
    assert (found["verdict"], found["detectable"]) == ("inconclusive", None)


@pytest.mark.parametrize("words", [(), ("--fail-on", "suspect")])
def test_no_save_leaves_no_trace(installation: Installation, words: tuple[str, ...]) -> None:
    ran = probed(installation, ScriptedModel(), *QUICK, "--no-save", *words)

    assert ran.code == 4
    document = ran.document
    assert (document["saved"], document["enrolled"], document["run_ids"]) == (False, False, [])
    assert check(document, "logprobs")["reason"] == "no baseline, and none is made without saving"
    assert not installation.data.exists()


def test_no_save_judges_by_the_baseline_and_adds_nothing(enrolled: Installation) -> None:
    before = enrolled.runs()

    ran = probed(enrolled, ScriptedModel(noise=NOISE, change=0.2), *QUICK, "--no-save")

    assert (ran.code, ran.document["verdict"], ran.document["saved"]) == (3, "drift", False)
    assert enrolled.runs() == before


def test_a_dry_run_sends_and_writes_nothing(installation: Installation) -> None:
    with ScriptedServer(ScriptedModel()) as server:
        installation.configure(
            server.base_url, entry={"prices": {"input_usd_per_mtok": 1.0, "output_usd_per_mtok": 4.0}}
        )
        ran = installation.probe("--dry-run", "--json")

    assert (ran.code, ran.err) == (0, "")
    document = ran.document
    assert document["schema"] == "monitor.probe.plan/1"
    assert [(plan["probe"], plan["requests"]) for plan in document["plans"]] == [("logprobs", 40), ("latency", 8)]
    cost = document["cost"]
    assert (cost["requests"], cost["tokens_out"]) == (48, 40 + 8 * 16)
    assert cost["usd"] == pytest.approx((cost["tokens_in"] + 4 * cost["tokens_out"]) / 1e6)
    assert server.received == []
    assert not installation.data.exists()
