"""A model's endpoints beside each other, as a table and in sentences."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from monitor.consensus import ConsensusDocument, ConsensusFinding, EndpointBeside
from monitor.render.wording import number, p_text

COLUMNS = ("provider", "served as", "asked (UTC)", "prompts", "distance (nat)", "p", "finding", "why")
_WORDS = {
    ConsensusFinding.DIFFERS: "differs from the others",
    ConsensusFinding.NOT_SHOWN: "no difference shown",
    ConsensusFinding.LEFT_OUT: "not compared",
    ConsensusFinding.INAPPLICABLE: "not compared",
}


def rows(found: ConsensusDocument) -> Iterator[tuple[str, ...]]:
    """One an endpoint."""
    for each in found.endpoints:
        yield (
            each.provider,
            each.served_name,
            "–" if each.at is None else _minute(each.at),
            "–" if each.prompts is None else str(each.prompts),
            distance_text(each),
            p_text(each.p),
            finding_text(each),
            each.reason,
        )


def finding_text(each: EndpointBeside) -> str:
    if each.finding is ConsensusFinding.CAMP:
        return "two camps" if each.camp is None else f"camp {each.camp}"
    return _WORDS[each.finding]


def distance_text(each: EndpointBeside) -> str:
    """`0.160 (3.1 ×)`: as many times that of the median one."""
    return number(each.distance, "nat") + ("" if each.ratio is None else f" ({each.ratio:.1f} ×)")


def sentence(found: ConsensusDocument) -> str:
    if found.finding is ConsensusFinding.INAPPLICABLE:
        return f"Inapplicable: {found.says}."
    # What differs is named first, and a name stays as it is.
    first = found.says[:1] if found.finding is ConsensusFinding.DIFFERS else found.says[:1].upper()
    return f"{first}{found.says[1:]}."


def notes(found: ConsensusDocument) -> Iterator[str]:
    """What there is to know of it, or to do about it."""
    if found.finding is ConsensusFinding.INAPPLICABLE:
        yield found.remedy
        return
    yield (
        f"Compared on {found.prompts} prompts that {found.providers} providers answered, by runs since "
        f"{_minute(found.since)} UTC. A distance is from the median of the others; in brackets, how many times it is "
        "that of the median one."
    )
    if found.finding in (ConsensusFinding.DIFFERS, ConsensusFinding.CAMP):
        yield (
            "It is not said who is right: where most run fp8, the one that serves bf16 differs from the others. "
            "Kernels that round otherwise may differ lawfully."
        )


def _minute(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M")
