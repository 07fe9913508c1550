from __future__ import annotations

import pytest

from probes.quirks import QUIRK_DISPOSITIONS, Disposition, Quirk

# One of each kind, and those whose disposition one would guess wrong.
DISPOSITIONS = {
    Quirk.SSE_FRAME_CORRUPT: Disposition.FLAG,
    Quirk.SSE_MISSING_DONE: Disposition.NORMALISE,
    Quirk.STREAM_TRUNCATED: Disposition.ERROR,
    Quirk.LP_SERVER_5XX: Disposition.ERROR,
    Quirk.LP_NULL: Disposition.FLAG,
    Quirk.LP_SENTINEL: Disposition.ACCEPT,
    Quirk.LP_VOCAB_MARKER: Disposition.NORMALISE,
    Quirk.TC_ARGS_EMPTY: Disposition.NORMALISE,
    Quirk.TC_PROVIDER_REJECTED: Disposition.FLAG,
    Quirk.BUFFERED_TOKENS: Disposition.ACCEPT,
}


def test_every_quirk_has_a_disposition() -> None:
    assert set(QUIRK_DISPOSITIONS) == set(Quirk)
    assert {quirk.disposition for quirk in Quirk} == set(Disposition)


@pytest.mark.parametrize(("quirk", "disposition"), DISPOSITIONS.items())
def test_a_quirk_has_its_disposition(quirk: Quirk, disposition: Disposition) -> None:
    assert quirk.disposition is disposition


def test_a_quirk_is_called_by_its_name() -> None:
    assert all(quirk.value == quirk.name for quirk in Quirk)


def test_the_worst_disposition_counts() -> None:
    assert Disposition.worst([Disposition.NORMALISE, Disposition.FLAG, Disposition.ACCEPT]) is Disposition.FLAG
    assert Disposition.worst([Disposition.FLAG, Disposition.ERROR]) is Disposition.ERROR


def test_an_answer_without_quirks_is_accepted() -> None:
    assert Disposition.worst([]) is Disposition.ACCEPT


def test_severity_rises() -> None:
    assert [disposition.severity for disposition in Disposition] == [0, 1, 2, 3]
