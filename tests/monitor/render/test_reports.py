"""What a check says beside its verdicts stands in every form of its report."""

from __future__ import annotations

import io
from datetime import UTC, datetime
from xml.etree import ElementTree

from rich.console import Console

from monitor.drift.rule import Verdict
from monitor.render.junit import junit
from monitor.render.markdown import markdown
from monitor.render.terminal import print_verdict
from monitor.verdict import (
    BillValue,
    Check,
    Cost,
    FidelityStatement,
    ParameterValue,
    ProtocolStatement,
    RateValue,
    StackHint,
    VariantRates,
    VariantShare,
    VerdictDocument,
)
from probes.parameters.judgement import Effect

AT = datetime(2026, 11, 29, tzinfo=UTC)
RIGHT = RateValue(name="oracle_met", value=0.75, numerator=30, denominator=40, method="wilson", reference=0.975)
HOSTILE = RateValue(name="accuracy.<b>|\x1b[2J", value=0.5, numerator=1, denominator=2, method="wilson")
EMPTY = RateValue(name="schema_ok", value=None, numerator=0, denominator=0, method="wilson")
FULL = VerdictDocument(
    provider="x",
    model="lark",
    endpoint="https://x.test/v1",
    verdict=Verdict.OK,
    checks=(Check(probe="protocol.stack", verdict=Verdict.OK),),
    rates=(RIGHT, HOSTILE, EMPTY),
    variants=(
        VariantRates(
            probe="tool_calls",
            variant="0123456789abcdef",
            share=0.25,
            n=58,
            rates=(RIGHT.model_copy(update={"value": 0.5}),),
            p=2e-6,
        ),
    ),
    parameters=(ParameterValue(name="n", effect=Effect.IGNORED, before=Effect.ACTS, reason="one choice of two"),),
    protocol=ProtocolStatement(
        variants=(VariantShare(variant="a" * 16, share=0.9, n=90), VariantShare(variant="b" * 16, share=0.1, n=10)),
        hints=(StackHint(stack="vLLM", reasons=("stop_reason in choice_keys",)),),
        caching="fresh",
        replays=8,
        bill=BillValue(requests=32, microusd=1500, overcharged_microusd=40, prompts_known=32, completions_known=32),
    ),
    fidelity=FidelityStatement(verdict=Verdict.INAPPLICABLE),
    cost=Cost(),
    started_at=AT,
    finished_at=AT,
)
BARE = FULL.model_copy(update={"rates": (), "variants": (), "parameters": (), "protocol": None})


def test_the_terminal_has_it_all() -> None:
    console = Console(file=io.StringIO(), width=160)
    print_verdict(console, FULL, 0)
    shown = console.file.getvalue()  # type: ignore[attr-defined]

    for line in (
        "do what the case demands 75.0 % 30/40 97.5 % oracle_met",
        "not asked, or no such answers: schema_ok",
        "tool_calls 01234567 25.0 % 58 2e-06 oracle_met 50.0 %",
        "n ignored acts one choice of two",
        "cache 8 identical pairs of requests are answered afresh",
        "variants 2: aaaaaaaa 90%, bbbbbbbb 10%",
        "stack reminds of vLLM: stop_reason in choice_keys",
        "bill $0.001500, $0.000040 of it too much",
    ):
        assert line in " ".join(shown.split())
    assert "\x1b" not in shown


def test_markdown_has_it_all_and_no_cell_is_markup() -> None:
    lines = markdown(FULL).splitlines()

    for line in (
        "| of the answers | now | of | reference | name |",
        "| do what the case demands | 75.0 % | 30/40 | 97.5 % | oracle\\_met |",
        "| right answers: \\<b\\>\\|\\[2J | 50.0 % | 1/2 |  | accuracy.\\<b\\>\\|\\[2J |",
        "not asked, or no such answers: schema\\_ok",
        "| tool\\_calls 01234567 | 25.0 % | 58 | 2e-06 | oracle\\_met 50.0 % |",
        "| n | ignored | acts | one choice of two |",
        "| variants | 2: aaaaaaaa 90%, bbbbbbbb 10% |",
        "| bill | $0.001500, $0.000040 of it too much |",
    ):
        assert line in lines
    assert sum(line.startswith("| ---") for line in lines) == 4
    assert sum(line.startswith("| ---") for line in markdown(BARE).splitlines()) == 0


def test_junit_has_it_all_as_properties_and_counts_the_cases_alone() -> None:
    suite = ElementTree.fromstring(junit(FULL, "drift"))

    assert suite.get("tests") == "2"
    assert suite[0].tag == "properties"
    assert [(one.get("name"), one.get("value")) for one in suite[0]] == [
        ("conclusion", "ok: no drift"),
        ("cost", "0 requests, 0 tokens in and 0 out, price not configured"),
        ("rate oracle_met", "75.0 %; 30/40; reference 97.5 %"),
        ("rate accuracy.<b>|[2J", "50.0 %; 1/2"),
        ("rates of nothing", "not asked, or no such answers: schema_ok"),
        ("variant tool_calls 01234567", "share 25.0 %; answers 58; p that it fails more 2e-06; oracle_met 50.0 %"),
        ("parameter n", "now ignored; before acts; why one choice of two"),
        ("cache", "8 identical pairs of requests are answered afresh"),
        ("variants", "2: aaaaaaaa 90%, bbbbbbbb 10%"),
        ("stack", "reminds of vLLM: stop_reason in choice_keys"),
        ("bill", "$0.001500, $0.000040 of it too much"),
    ]
    bare = ElementTree.fromstring(junit(BARE, "drift"))
    assert [one.get("name") for one in bare[0]] == ["conclusion", "cost"]
