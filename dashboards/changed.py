"""Which endpoints changed, by the evidence of many rounds of all of them at once. No I/O."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from monitor.drift.multiplicity import e_bh
from monitor.render.streams import worth_text
from monitor.store.stream_view_records import EndpointWorth

FALSE_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Changed:
    """`listed` of the `watched` endpoints, the surest first, each with its E."""

    listed: tuple[tuple[EndpointWorth, str], ...]
    watched: int

    @property
    def sentence(self) -> str:
        """What the list promises."""
        if not self.listed:
            return f"None of {self.watched} watched endpoints is known to have changed by many rounds."
        return (
            f"{len(self.listed)} of {self.watched} watched endpoints. On average at most {100 * FALSE_SHARE:.0f} % of "
            "such a list did not change (e-BH); that holds at one time of looking, not for all ever listed."
        )


def changed(found: Iterable[EndpointWorth], shown: Collection[str | None]) -> Changed | None:
    """Of the endpoints that the page shows; None where the streams of none are watched."""
    watched = [one for one in found if one.endpoint_id in shown]
    if not watched:
        return None
    names = e_bh({one.endpoint_id: one.worth for one in watched}, FALSE_SHARE)
    listed = sorted((one for one in watched if one.endpoint_id in names), key=lambda one: -one.worth)
    return Changed(tuple((one, worth_text(one.worth)) for one in listed), len(watched))
