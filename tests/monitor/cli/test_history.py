"""`monitor history`: what was found, at a glance and for machines; nothing saved is no error."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from monitor import clock
from monitor.check.recall import with_said
from monitor.drift.cause import Cause
from monitor.drift.rule import Verdict
from monitor.store import Enrol, RunResult, RunStatus, Store
from monitor.verdict import RateValue, Said
from probes.plan import ProbeKind
from tests.monitor.cli.commands import Monitor
from tests.monitor.store.material import AT, evidence, finished_run, identity, later, result, start

CONFIG = """\
version: 1
models: { smol: {}, large: {} }
providers:
  - slug: umbrella
    base_url: https://api.umbrella.test/v1
    models: [ { model: smol, name: smol } ]
"""


@pytest.fixture
def store(data_dir: Path) -> Iterator[Store]:
    data_dir.mkdir()
    with Store.open(data_dir / "monitor.db", at=AT) as opened:
        yield opened


def fill(store: Store) -> list[str]:
    """An enrolment, an unchanged run, a drift with its cause, and a run that failed; the ids of their runs."""
    endpoint = store.ensure_endpoint(identity(served_name="acme/smol"), at=AT)
    first = store.begin_run(start(endpoint.id, check_id="chk_1"), at=AT)
    waiting = [evidence(verdict=Verdict.INCONCLUSIVE)]
    store.finish_run(first, replace(result(baseline=Enrol()), evidence=waiting), at=later(0.5))
    fidelity = evidence("fidelity", Verdict.OK)
    unchanged = replace(result(), evidence=[evidence(), replace(fidelity, p=None, adjusted_p=None, value=0.04)])
    moved = replace(evidence(verdict=Verdict.DRIFT), adjusted_p=2e-6, causes=(Cause("nf4", 0.97), Cause("bf16", 0.03)))
    return [
        first,
        finished_run(store, endpoint.id, later(1), check_id="chk_2", outcome=unchanged),
        finished_run(store, endpoint.id, later(2), check_id="chk_3", outcome=replace(result(), evidence=[moved])),
        finished_run(
            store,
            endpoint.id,
            later(3),
            check_id="chk_4",
            probe=ProbeKind.LATENCY,
            outcome=RunResult(RunStatus.FAILED, "provider_unreachable"),
        ),
    ]


def test_the_table_tells_each_check_in_a_line_newest_first(monitor: Monitor, store: Store) -> None:
    fill(store)

    ran = monitor("history", "--provider", "acme")

    assert (ran.code, ran.err) == (0, "")
    header, *lines = [line.split() for line in ran.out.splitlines()]
    assert header == ["time", "(UTC)", "model", "verdict", "fidelity", "(nat)", "drift", "p", "tokens", "cost", "notes"]
    when = ["2026-11-29", "12:0"]
    fidelity = ["0.040", "[0.001,", "0.023]"]
    assert lines == [
        [when[0], f"{when[1]}3", "smol", "E", "error", "–", "–", "0", "–", "provider_unreachable"],
        [when[0], f"{when[1]}2", "smol", "D", "DRIFT", "–", "2e-06", "39", "$0.00012", "logprobs:", "nf4", "97%"],
        [when[0], f"{when[1]}1", "smol", "O", "ok", *fidelity, "0.5", "39", "$0.00012"],
        [when[0], f"{when[1]}0", "smol", "+", "enrolled", "–", "0.5", "39", "$0.00012"],
    ]


def test_json_holds_everything_in_one_document(monitor: Monitor, store: Store) -> None:
    ids = fill(store)

    ran = monitor("history", "--provider", "acme", "--json")

    assert (ran.code, ran.err) == (0, "")
    assert ran.document["schema"] == "monitor.history/1"
    items = ran.document["items"]
    assert [item["verdict"] for item in items] == [None, "drift", "ok", "inconclusive"]
    assert [item["enrolled"] for item in items] == [False, False, False, True]
    assert [run["run_id"] for item in items for run in item["runs"]] == ids[::-1]
    assert items[1]["drift_p"] == 2e-6
    assert items[1]["usd"] == 0.00012
    (drifted,) = items[1]["runs"][0]["evidence"]
    assert drifted["causes"] == [{"name": "nf4", "weight": 0.97}, {"name": "bf16", "weight": 0.03}]
    assert drifted["interval"] == [0.001, 0.023]
    assert items[2]["fidelity"]["value"] == 0.04
    assert items[0]["runs"][0]["error"] == "provider_unreachable"
    assert items[3]["runs"][0]["baseline"] == "enrolment"


def test_json_has_what_is_said_of_a_run_beside_its_evidence(monitor: Monitor, store: Store) -> None:
    endpoint = store.ensure_endpoint(identity(), at=AT)
    rate = RateValue(name="schema_ok", value=0.5, numerator=1, denominator=2, method="wilson")
    kept = replace(result(), evidence=with_said(result().evidence, Said(rates=(rate,))))
    finished_run(store, endpoint.id, outcome=kept)

    (item,) = monitor("history", "--provider", "acme", "--json").document["items"]

    (run,) = item["runs"]
    assert RateValue.model_validate(run["rates"][0]) == rate
    assert (run["variants"], run["parameters"], run["protocol"]) == ([], [], None)


def test_csv_has_a_row_for_each_check(monitor: Monitor, store: Store) -> None:
    ids = fill(store)

    rows = list(csv.DictReader(io.StringIO(monitor("history", "--provider", "acme", "--csv").out)))

    assert [row["verdict"] for row in rows] == ["error", "drift", "ok", "enrolled"]
    assert [row["run_ids"] for row in rows] == ids[::-1]
    assert rows[1]["drift_p"] == "2e-06"
    assert (rows[2]["fidelity_nat"], rows[2]["fidelity_low"], rows[2]["fidelity_high"]) == ("0.04", "0.001", "0.023")
    assert rows[0]["cost_usd"] == ""
    assert rows[2]["time"] == "2026-11-29T12:01:00+00:00"


@pytest.mark.parametrize("name", ["=cmd|'/c calc'!A1", "+1", "-1", "@SUM(A1)", "\t=1", "\r\n=1"])
def test_no_cell_of_the_csv_is_a_formula(monitor: Monitor, store: Store, name: str) -> None:
    endpoint = store.ensure_endpoint(identity(served_name=name), at=AT)
    finished_run(store, endpoint.id)

    (row,) = csv.DictReader(io.StringIO(monitor("history", "--provider", "acme", "--csv").out))

    assert row["served_name"].startswith("'")
    assert not any((value or "").startswith(("=", "+", "-", "@", "\t", "\r")) for value in row.values())


def test_endpoints_of_one_model_are_told_apart_and_their_names_do_nothing_to_the_terminal(
    monitor: Monitor, store: Store
) -> None:
    for name in ("[red]x[/red]\x1b[2J", "y"):
        finished_run(store, store.ensure_endpoint(identity(served_name=name), at=AT).id)

    out = monitor("history", "--provider", "acme").out

    assert "smol as [red]x[/red][2J" in out
    assert "smol as y" in out
    assert "\x1b" not in out


def test_it_can_be_narrowed(monitor: Monitor, store: Store) -> None:
    fill(store)
    large = store.ensure_endpoint(identity(model="large"), at=AT)
    finished_run(store, large.id, later(9), check_id="chk_9")

    def ids(*options: str) -> list[str]:
        document = json.loads(monitor("history", "--provider", "acme", "--json", *options).out)
        return [item["check_id"] for item in document["items"]]

    assert ids("--model", "large") == ["chk_9"]
    assert ids("--model", "smol", "--limit", "2") == ["chk_4", "chk_3"]
    assert ids("--since", "2026-11-29T12:03Z") == ["chk_9", "chk_4"]


def test_a_check_at_work_is_told_as_such(monitor: Monitor, store: Store) -> None:
    endpoint = store.ensure_endpoint(identity(), at=AT)
    # Its process is this one, and it began just now: nobody takes it for abandoned.
    store.begin_run(start(endpoint.id), at=clock.now())

    line = monitor("history", "--provider", "acme", "--since", "1h").out.splitlines()[1]

    assert line.split()[2:] == ["smol", "~", "running", "–", "–", "–", "–"]


@pytest.mark.parametrize("saved", [True, False])
def test_a_provider_without_runs_is_no_error(monitor: Monitor, folder: Path, data_dir: Path, saved: bool) -> None:
    (folder / "providers.yaml").write_text(CONFIG)
    if saved:
        data_dir.mkdir()
        Store.open(data_dir / "monitor.db", at=AT).close()

    ran = monitor("history", "--provider", "umbrella")

    assert (ran.code, ran.out) == (0, "")
    assert ran.err == "No runs of umbrella yet. `monitor probe --provider umbrella` makes one.\n"
    assert monitor("history", "--provider", "umbrella", "--json").document["items"] == []
    assert data_dir.exists() == saved


def test_no_runs_in_the_time_asked_for_is_no_error(monitor: Monitor, store: Store) -> None:
    fill(store)

    ran = monitor("history", "--provider", "acme", "--since", "2030-01-01")

    assert (ran.code, ran.out) == (0, "")
    assert "No runs of acme since 2030-01-01" in ran.err


def test_an_unknown_provider_is_compared_with_the_configured_and_the_probed(
    monitor: Monitor, folder: Path, store: Store
) -> None:
    (folder / "providers.yaml").write_text(CONFIG)
    fill(store)

    mistyped, probed = monitor("history", "--provider", "umbrela"), monitor("history", "--provider", "amce")

    assert (mistyped.code, probed.code) == (2, 2)
    assert "No provider 'umbrela' is configured or was ever probed; did you mean 'umbrella'?" in mistyped.err
    assert "did you mean 'acme'?" in probed.err


def test_an_unknown_model_is_compared_with_those_of_the_provider(monitor: Monitor, store: Store) -> None:
    fill(store)

    ran = monitor("history", "--provider", "acme", "--model", "smoll")

    assert ran.code == 2
    assert "Provider 'acme' has no model 'smoll', now or earlier; did you mean 'smol'?" in ran.err


def test_the_past_is_shown_though_the_configuration_is_broken(monitor: Monitor, folder: Path, store: Store) -> None:
    (folder / "providers.yaml").write_text("version: [")
    fill(store)

    assert monitor("history", "--provider", "acme").code == 0
    assert monitor("history", "--provider", "nobody").code == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--json", "--csv"), "--json and --csv exclude each other"),
        (("--since", "soon"), "--since 'soon' is not a time"),
        (("--limit", "0"), "--limit"),
    ],
)
def test_wrong_options_are_named(monitor: Monitor, store: Store, options: tuple[str, ...], message: str) -> None:
    fill(store)

    ran = monitor("history", "--provider", "acme", *options)

    assert ran.code == 2
    assert message in ran.err + ran.out


def test_a_database_that_cannot_be_read_is_exit_6(monitor: Monitor, data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "monitor.db").write_text("not a database, but long enough to look at" * 100)

    ran = monitor("history", "--provider", "acme", "--json")

    assert ran.code == 6
    assert ran.document["error"]["code"] == "database_unavailable"
    assert str(data_dir / "monitor.db") in ran.document["error"]["message"]
