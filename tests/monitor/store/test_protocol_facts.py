"""What is kept of a protocol run is read as it was written, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.protocol import EffectSeen, ProtocolFacts
from monitor.errors import StorageError
from monitor.store.protocol_facts import MAGIC, decode_facts, encode_facts
from probes.parameters.judgement import Effect

names = st.text(st.characters(codec="utf-8"), max_size=12)
counts = st.dictionaries(names, st.integers(0, 10**6), max_size=4)
facts = st.builds(
    ProtocolFacts,
    effects=st.dictionaries(names, st.builds(EffectSeen, st.sampled_from(Effect), st.floats(0, 1)), max_size=4),
    features=st.dictionaries(names, st.dictionaries(names, counts, max_size=3), max_size=3),
    variants=counts,
    prompt_tokens=counts,
)


@settings(max_examples=40)
@given(facts)
def test_facts_come_back_as_they_went_in(kept: ProtocolFacts) -> None:
    assert decode_facts(encode_facts(kept)) == kept


@pytest.mark.parametrize(
    "blob", [b"", b"SCO\x01", MAGIC + b"\x02", MAGIC + b"\x01nothing", encode_facts(ProtocolFacts())[:-2]]
)
def test_what_was_not_written_by_this_program_is_refused(blob: bytes) -> None:
    with pytest.raises(StorageError):
        decode_facts(blob)
