from __future__ import annotations

import json
from dataclasses import replace
from hashlib import sha256

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from monitor.drift.candidates import Hypotheses, LikelihoodRatio
from monitor.drift.count_stream import CountStream, Tally
from monitor.drift.decision import EndpointState, Level
from monitor.drift.evidence import (
    Combining,
    Counts,
    Evidence,
    ExactP,
    Factors,
    LogLikelihoods,
    Null,
    Scores,
    Statement,
    StreamKey,
    Tier,
)
from monitor.drift.levels import DAY, Calibration, Levels, Noise, Standing
from monitor.drift.likelihood_stream import LikelihoodStream
from monitor.drift.score_stream import Bets, Round, ScoreStream, StreamRule, Today
from monitor.drift.sequential import AverageProcess, EProcess, PValueProcess, Wealth
from monitor.drift.streams import STATE_VERSION, Epoch, StreamState, fold
from monitor.errors import StateVersionError, StorageError
from monitor.store.stream_codec import (
    decode_endpoint,
    decode_state,
    encode_endpoint,
    encode_state,
    pack_rounds,
    unpack_rounds,
)
from monitor.store.stream_evidence import plain, statement
from tests.monitor.drift.rounds import days_of

# Subnormals and both zeros too: whatever repr tells apart is another state.
floats = st.floats(allow_nan=False, allow_infinity=False)
counts = st.integers(min_value=0, max_value=2**53)
rules = st.builds(StreamRule, counts, counts, counts, floats, floats, counts, st.booleans())
wealths = st.builds(Wealth, counts, st.lists(floats, max_size=7).map(tuple), counts)
rounds = st.builds(Round, floats, floats)
calibrations = st.builds(
    Calibration,
    st.sampled_from(Standing),
    st.text(max_size=20),
    st.none() | st.builds(Noise, floats, floats, floats, floats),
    st.none() | st.builds(Levels, floats, floats, floats, counts),
)
e_processes = st.builds(EProcess, floats, wealths)
todays = st.builds(Today, st.integers(), floats, counts)
score_streams = st.builds(
    ScoreStream,
    rules,
    st.builds(PValueProcess, wealths),
    st.lists(rounds, max_size=6).map(tuple),
    st.none() | calibrations,
    st.none() | st.tuples(floats, floats),
    st.none() | st.builds(Bets, e_processes, e_processes, todays, counts),
    counts,
    st.none() | floats,
)
count_streams = st.builds(
    CountStream,
    counts,
    st.text(max_size=8),
    st.lists(st.builds(Tally, floats, floats, counts), max_size=6).map(tuple),
    st.none() | st.builds(Levels, floats, floats, floats, counts),
    st.none() | wealths,
    st.none() | st.text(max_size=20),
    st.lists(st.text(max_size=8), max_size=6).map(tuple),
    st.none() | floats,
)
named = st.lists(st.text(max_size=6), min_size=2, max_size=6, unique=True).map(tuple)
hypotheses = st.builds(
    lambda names, horizon, clip: Hypotheses(names[:1], names[1:], horizon, clip),
    named,
    st.integers(1, 2**53),
    st.floats(0.0, allow_infinity=False, exclude_min=True),
)
logs = st.lists(floats, max_size=5).map(tuple)
ratios = st.builds(
    LikelihoodRatio, hypotheses, counts, floats, logs, logs, st.lists(floats | st.just(-np.inf), max_size=5).map(tuple)
)
processes = st.one_of(
    score_streams,
    count_streams,
    wealths,
    st.builds(PValueProcess, wealths),
    st.builds(AverageProcess, counts, counts, floats),
    st.builds(LikelihoodStream, ratios, st.booleans()),
)
keys = st.builds(StreamKey, st.text(max_size=8), st.sampled_from(Tier), st.text(max_size=8))
states = st.builds(
    StreamState,
    keys,
    rules,
    st.builds(Epoch, counts, floats, st.text(max_size=8)),
    st.none() | processes,
    st.none() | st.text(max_size=20),
)
endpoint_states = st.builds(EndpointState, st.sampled_from(Level), floats, floats, st.none() | st.text(max_size=20))

KEY = StreamKey("ep_01M8KY6W4HET7TSC8ZYEPSVP60", Tier.LOGPROBS, "f" * 64)
NEW = StreamState(KEY, StreamRule(), Epoch(0, 20_000 * DAY, "s" * 64))


@given(states)
def test_every_state_comes_back_bit_for_bit(state: StreamState) -> None:
    assert repr(decode_state(encode_state(state))) == repr(state)


@given(endpoint_states)
def test_every_state_of_an_endpoint_comes_back_bit_for_bit(state: EndpointState) -> None:
    assert repr(decode_endpoint(encode_endpoint(state))) == repr(state)


@given(st.lists(rounds, max_size=20))
def test_rounds_come_back_bit_for_bit(given_rounds: list[Round]) -> None:
    assert repr(unpack_rounds(pack_rounds(given_rounds))) == repr(tuple(given_rounds))


unit = st.floats(0.0, 1.0)
KNOWN = Hypotheses(("int8", "template"), ("bf16",), 9)
chance = st.floats(-60.0, 0.0) | st.just(-np.inf)
tokens = st.lists(st.tuples(chance | st.just(np.nan), chance, chance), min_size=1, max_size=4).map(tuple)


@given(tokens, st.booleans())
def test_log_likelihoods_come_back_bit_for_bit(rows: tuple[tuple[float, ...], ...], calibrated: bool) -> None:
    says = LogLikelihoods(KNOWN, rows, calibrated)
    written = json.loads(json.dumps(plain(says), allow_nan=False))
    assert repr(statement(written)) == repr(says)


cases = st.dictionaries(st.text(max_size=4), st.floats(0.01, 1.0), max_size=5).map(lambda found: tuple(found.items()))
counted = st.builds(
    lambda bad, more, fresh: Counts(bad, len(bad) + more, fresh * more, more, "1-abc"), cases, st.integers(1, 200), unit
)


@given(counted)
def test_counts_come_back_bit_for_bit(says: Counts) -> None:
    assert repr(statement(json.loads(json.dumps(plain(says), allow_nan=False)))) == repr(says)


said = st.one_of(
    st.lists(counted, min_size=2, max_size=9),
    st.lists(unit.map(lambda score: Scores((score,))), min_size=2, max_size=12),
    st.lists(st.floats(1e-9, 1.0).map(lambda p: ExactP(p, Null.REFERENCE, Combining.MULTIPLY)), min_size=2, max_size=9),
    st.lists(st.floats(1e-9, 1.0).map(lambda p: ExactP(p, Null.REFERENCE, Combining.AVERAGE)), min_size=2, max_size=9),
    st.lists(
        st.lists(st.floats(0.0, 1e6), min_size=1, max_size=4).map(
            lambda factors: Factors(tuple(factors), Null.REFERENCE, Combining.MULTIPLY)
        ),
        min_size=2,
        max_size=9,
    ),
    st.lists(tokens.map(lambda rows: LogLikelihoods(KNOWN, rows)), min_size=2, max_size=9),
)


@given(said, st.data())
def test_a_state_that_was_stored_goes_on_as_if_not(statements: list[Statement], data: st.DataObject) -> None:
    evidence = [Evidence(KEY, 20_000 * DAY + 0.4 * DAY * place, says) for place, says in enumerate(statements)]
    half = data.draw(st.integers(0, len(evidence)))
    restored = decode_state(encode_state(fold(NEW, evidence[:half])))
    assert repr(fold(restored, evidence[half:])) == repr(fold(NEW, evidence))


def test_numbers_that_are_whole_have_the_text_of_floats() -> None:
    whole = replace(NEW, rule=StreamRule(delta=0, target=1), epoch=Epoch(0, 5, "s"))
    floating = replace(NEW, rule=StreamRule(delta=0.0, target=1.0), epoch=Epoch(0, 5.0, "s"))
    assert encode_state(whole) == encode_state(floating) == encode_state(decode_state(encode_state(whole)))


def test_four_weeks_of_hours_without_levels_take_less_than_20_kb() -> None:
    """The most that a stream holds: days that move within the baseline give no levels, and twice 14 days are kept."""
    rng = np.random.default_rng(0)
    moving = [one for week in range(5) for one in days_of(rng, 7, first=20_000 + 7 * week, moved=0.2 * week)]
    jittered = [Round(one.at + rng.random(), min(1.0, one.score + 0.01 * rng.random())) for one in moving]

    state = fold(NEW, [Evidence(KEY, one.at, Scores((one.score,))) for one in jittered])

    assert isinstance(state.process, ScoreStream)
    assert len(state.process.past) >= 28 * 24
    assert state.process.bets is None
    assert len(encode_state(state)) < 20_000
    # What it would be in decimal digits.
    assert len(json.dumps(state.process.past)) > 20_000


def test_an_endpoint_whose_every_call_breaks_takes_less_than_20_kb() -> None:
    rounds = [Counts(tuple((f"{day:08}{case:08}", 1.0) for case in range(230)), 230, 0.0, 230, "1") for day in range(9)]
    state = fold(NEW, [Evidence(KEY, 20_000 * DAY + day * DAY, says) for day, says in enumerate(rounds)])
    assert state.calibrated
    assert len(encode_state(state)) < 20_000


@pytest.mark.parametrize("version", [0, STATE_VERSION + 1, None, "1"])
def test_another_version_is_to_be_computed_anew(version: object) -> None:
    for text, decode in ((encode_state(NEW), decode_state), (encode_endpoint(EndpointState()), decode_endpoint)):
        other = json.dumps({**json.loads(text), "version": version}, separators=(",", ":"))
        with pytest.raises(StateVersionError, match="computed anew") as raised:
            decode(other)
        assert (raised.value.code, raised.value.exit_code) == ("stream_state_version", 6)


# Of what is written of a state of each kind, as the version says: another form is another version.
FORMS = {2: "53c50f49585a4df0"}  # pragma: allowlist secret


def test_a_form_is_of_its_version() -> None:
    wealth = Wealth(720, (1.0,), 1)
    counts = [Evidence(KEY, 20_000 * DAY + day * DAY, Counts((), 230, 0.0, 230, "1")) for day in range(9)]
    ratio = LikelihoodRatio(Hypotheses(("int8",), ("bf16",), 100), 1, 0.0, (0.0,), (0.0,), (0.0,))
    average = AverageProcess(30, 1, 1.0)
    of_kinds = [wealth, PValueProcess(wealth), average, LikelihoodStream(ratio, calibrated=True)]
    states = [_state(), fold(NEW, counts), *(replace(NEW, process=process) for process in of_kinds)]
    assert all(one.calibrated for one in states[:2])
    texts = [*map(encode_state, states), encode_endpoint(EndpointState())]
    forms = [_form(json.loads(text)) for text in texts]
    digest = sha256(json.dumps(forms).encode()).hexdigest()[:16]
    assert FORMS[STATE_VERSION] == digest, "states that are stored already have another form: raise STATE_VERSION"


def _form(value: object) -> object:
    """The names and kinds of what it holds, without their values."""
    match value:
        case dict():
            return {name: _form(each) for name, each in value.items()}
        case list():
            return [_form(each) for each in value[:1]]
    return type(value).__name__


def test_a_state_of_before_rules_said_what_may_alarm_is_to_be_computed_anew() -> None:
    text = encode_state(_state()).replace('"version":2', '"version":1').replace(',"proves":true', "")
    with pytest.raises(StateVersionError):
        decode_state(text)


def _state() -> StreamState:
    evidence = [Evidence(KEY, one.at, Scores((one.score,))) for one in days_of(np.random.default_rng(0), 16)]
    return fold(NEW, evidence[:-5])


def test_no_text_cut_short_is_a_state() -> None:
    text = encode_state(_state())
    for length in range(0, len(text), 7):
        with pytest.raises(StorageError):
            decode_state(text[:length])


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"kind":"scores"', '"kind":"dice"'),
        ('"inapplicable":null', '"inapplicable":null,"more":1'),
        ('"T1"', '"T9"'),
        ('"delta":0.02', '"delta":0.020000000000000000001'),
        ('"past":""', '"past":"AAAA"'),
        ('"past":""', '"past":"*"'),
        ('"hourly":{', '"hurly":{'),
        ('"standing":"ready"', '"standing":"steady"'),
        ('"staked"', '"stacked"'),
    ],
)
def test_what_is_damaged_is_no_state(old: str, new: str) -> None:
    text = encode_state(_state())
    assert old in text
    with pytest.raises(StorageError, match="damaged"):
        decode_state(text.replace(old, new, 1))


@pytest.mark.parametrize("text", ["", "null", "[]", "{}", '{"version":1}', "\x00"])
def test_what_is_no_state_is_refused(text: str) -> None:
    for decode in (decode_state, decode_endpoint):
        with pytest.raises(StorageError):
            decode(text)


@settings(max_examples=20)
@given(st.sampled_from([float("nan"), float("inf"), -float("inf")]))
def test_a_number_that_is_none_is_refused(number: float) -> None:
    with pytest.raises(StorageError, match="a number that is none"):
        encode_state(replace(NEW, process=AverageProcess(1, 1, number)))
    with pytest.raises(StorageError, match="a number that is none"):
        encode_endpoint(EndpointState(units=number))


def test_rounds_that_are_cut_short_are_refused() -> None:
    with pytest.raises(StorageError, match="damaged"):
        unpack_rounds(pack_rounds([Round(1.0, 0.5)])[:-1])
