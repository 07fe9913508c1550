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
HOSTILE = RateValue(name="accuracy.<b>|\x1b[2J", value=None, numerator=0, denominator=0, method="wilson")
FULL = VerdictDocument(
    provider="x",
    model="lark",
    endpoint="https://x.test/v1",
    verdict=Verdict.OK,
    checks=(Check(probe="protocol.stack", verdict=Verdict.OK),),
    rates=(RIGHT, HOSTILE),
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
        "oracle_met 0.750 30/40 0.975",
        "tool_calls 01234567 0.250 58 oracle_met 0.500 2e-06",
        "n ignored acts one choice of two",
        "replays fresh, of 8 pairs",
        "variants 2: aaaaaaaa 90%, bbbbbbbb 10%",
        "stack reminds of vLLM: stop_reason in choice_keys",
        "bill $0.001500, $0.000040 of it too much",
    ):
        assert line in " ".join(shown.split())
    assert "\x1b" not in shown


def test_markdown_has_it_all_and_no_cell_is_markup() -> None:
    lines = markdown(FULL).splitlines()

    for line in (
        "| rate | now | of | reference | left out |",
        "| oracle\\_met | 0.750 | 30/40 | 0.975 |  |",
        "| accuracy.\\<b\\>\\|\\[2J | – | – | – |  |",
        "| tool\\_calls 01234567 | 0.250 | 58 | oracle\\_met 0.500 | 2e-06 |",
        "| n | ignored | acts | one choice of two |",
        "- variants: 2: aaaaaaaa 90%, bbbbbbbb 10%",
        "- bill: $0.001500, $0.000040 of it too much",
    ):
        assert line in lines
    assert sum(line.startswith("| ---") for line in lines) == 4
    assert sum(line.startswith("| ---") for line in markdown(BARE).splitlines()) == 1


def test_junit_has_it_all_as_properties_and_counts_the_cases_alone() -> None:
    suite = ElementTree.fromstring(junit(FULL, "drift"))

    assert suite.get("tests") == "2"
    assert suite[0].tag == "properties"
    assert [(one.get("name"), one.get("value")) for one in suite[0]] == [
        ("rate oracle_met", "now 0.750; of 30/40; reference 0.975"),
        ("rate accuracy.<b>|[2J", "now –; of –; reference –"),
        ("variant tool_calls 01234567", "share 0.250; of 58; rates oracle_met 0.500; p 2e-06"),
        ("parameter n", "now ignored; before acts; why one choice of two"),
        ("replays", "fresh, of 8 pairs"),
        ("variants", "2: aaaaaaaa 90%, bbbbbbbb 10%"),
        ("stack", "reminds of vLLM: stop_reason in choice_keys"),
        ("bill", "$0.001500, $0.000040 of it too much"),
    ]
    assert ElementTree.fromstring(junit(BARE, "drift")).findall("properties") == []
