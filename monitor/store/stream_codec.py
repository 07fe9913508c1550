"""States of streams and of their endpoint as JSON: small, versioned, every float with every bit.

A state has one text only: equal states have equal texts, so that texts can be compared and hashed in their place. The
rounds that a stream of scores holds until there are levels are packed in base64 (21.3 bytes each; in digits, 40).
"""

from __future__ import annotations

import json
import struct
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterable, Mapping
from dataclasses import astuple
from hashlib import sha256
from typing import Any

from monitor.drift.count_stream import CountStream, Tally
from monitor.drift.decision import EndpointState, Level
from monitor.drift.evidence import StreamKey, Tier
from monitor.drift.levels import Calibration, Levels, Noise, Standing
from monitor.drift.likelihood_stream import LikelihoodStream
from monitor.drift.score_stream import Bets, Round, ScoreStream, StreamRule, Today
from monitor.drift.sequential import AverageProcess, EProcess, PValueProcess, Wealth
from monitor.drift.streams import STATE_VERSION, Epoch, Process, StreamState
from monitor.errors import StateVersionError, StorageError
from monitor.store.stream_likelihoods import plain_ratio, ratio_of

_ROUND = struct.Struct("<2d")
_REMEDY = "Restore the database from a backup; evidence is kept, and `monitor drift replay` computes states from it."
_DAMAGE = (ValueError, KeyError, TypeError, AttributeError, struct.error, Base64Error)


def encode_state(state: StreamState) -> str:
    """Raises StorageError for a state with a number that is none."""
    process = None if state.process is None else _process(state.process)
    return _text(
        {
            "version": state.version,
            "key": [state.key.endpoint, state.key.tier.value, state.key.probe_set],
            "rule": plain_rule(state.rule),
            "epoch": [state.epoch.number, float(state.epoch.opened_at), state.epoch.stack],
            "process": process,
            "inapplicable": state.inapplicable,
        }
    )


def decode_state(text: str) -> StreamState:
    """What `encode_state` was given. Raises StateVersionError for a form of another version, StorageError for anything
    else that `encode_state` did not write."""
    body = _body(text, STATE_VERSION)
    try:
        endpoint, tier, probe_set = body["key"]
        number, opened_at, stack = body["epoch"]
        state = StreamState(
            StreamKey(endpoint, Tier(tier), probe_set),
            rule_of(body["rule"]),
            Epoch(number, opened_at, stack),
            None if body["process"] is None else _process_of(body["process"]),
            body["inapplicable"],
        )
        _check_same(encode_state(state), text)
    except _DAMAGE as error:
        raise _damaged(error) from error
    return state


def encode_endpoint(state: EndpointState) -> str:
    """Raises StorageError for a state with a number that is none."""
    return _text(
        {
            "version": STATE_VERSION,
            "level": state.level.name.lower(),
            "units": float(state.units),
            "staked": float(state.staked),
            "held": state.held,
        }
    )


def decode_endpoint(text: str) -> EndpointState:
    """What `encode_endpoint` was given. Raises as `decode_state` does."""
    body = _body(text, STATE_VERSION)
    try:
        state = EndpointState(Level[body["level"].upper()], body["units"], body["staked"], body["held"])
        _check_same(encode_endpoint(state), text)
    except _DAMAGE as error:
        raise _damaged(error) from error
    return state


def digest(text: str) -> str:
    """Of a state's text."""
    return sha256(text.encode()).hexdigest()


def pack_rounds(rounds: Iterable[Round]) -> bytes:
    """Two float64 a round, little-endian: when, and its score."""
    return b"".join(_ROUND.pack(one.at, one.score) for one in rounds)


def unpack_rounds(blob: bytes) -> tuple[Round, ...]:
    """Raises StorageError for what is not a whole number of rounds."""
    try:
        return tuple(Round(at, score) for at, score in _ROUND.iter_unpack(blob))
    except struct.error as error:
        raise _damaged(error) from error


def plain_rule(rule: StreamRule) -> dict[str, Any]:
    return {
        "rounds_a_day": rule.rounds_a_day,
        "epoch_days": rule.epoch_days,
        "days": rule.days,
        "delta": float(rule.delta),
        "target": float(rule.target),
        "seed": rule.seed,
        "proves": rule.proves,
    }


def rule_of(found: Mapping[str, Any]) -> StreamRule:
    return StreamRule(**found)


def _text(body: Mapping[str, Any]) -> str:
    try:
        return json.dumps(body, separators=(",", ":"), allow_nan=False)
    except ValueError as error:
        raise StorageError(
            "A state of a stream holds a number that is none.", remedy="Please report this with the command."
        ) from error


def _body(text: str, version: int) -> Any:
    try:
        body = json.loads(text)
        found = body["version"]
    except _DAMAGE as error:
        raise _damaged(error) from error
    if found != version:
        raise StateVersionError(
            f"A stored state of a stream has form {found}; this program knows form {version}.",
            remedy="It is to be computed anew from the stored evidence, which the next evidence does.",
        )
    return body


def _check_same(written: str, text: str) -> None:
    """What would be written otherwise was not written here: a key too many, digits that no float has."""
    if written != text:
        raise ValueError("it would be written otherwise")


def _damaged(error: Exception) -> StorageError:
    return StorageError(f"A stored state of a stream is damaged ({type(error).__name__}).", remedy=_REMEDY)


def _process(process: Process) -> dict[str, Any]:
    match process:
        case ScoreStream():
            return {"kind": "scores", **_scores(process)}
        case CountStream():
            return {"kind": "counts", **_counts(process)}
        case Wealth():
            return {"kind": "factors", **_wealth(process)}
        case PValueProcess():
            return {"kind": "p_values", **_wealth(process.wealth)}
        case AverageProcess():
            return {
                "kind": "average",
                "horizon": process.horizon,
                "rounds": process.rounds,
                "value": float(process.value),
            }
        case LikelihoodStream():
            return {"kind": "likelihoods", **plain_ratio(process)}


def _process_of(found: Mapping[str, Any]) -> Process:
    match found["kind"]:
        case "scores":
            return _scores_of(found)
        case "counts":
            return _counts_of(found)
        case "factors":
            return _wealth_of(found)
        case "p_values":
            return PValueProcess(_wealth_of(found))
        case "average":
            return AverageProcess(found["horizon"], found["rounds"], found["value"])
        case "likelihoods":
            return ratio_of(found)
    raise ValueError(found["kind"])


def _wealth(wealth: Wealth) -> dict[str, Any]:
    return {"horizon": wealth.horizon, "staked": wealth.staked, "bets": [float(bet) for bet in wealth.bets]}


def _wealth_of(found: Mapping[str, Any]) -> Wealth:
    return Wealth(found["horizon"], tuple(found["bets"]), found["staked"])


def _counts(stream: CountStream) -> dict[str, Any]:
    return {
        "horizon": stream.horizon,
        "asked": stream.asked,
        "past": [[float(one.at), float(one.bad), one.of] for one in stream.past],
        "lawful": None if stream.lawful is None else _levels(stream.lawful),
        "wealth": None if stream.wealth is None else _wealth(stream.wealth),
        "unlawful": stream.unlawful,
        "known": list(stream.known),
        "last_at": None if stream.last_at is None else float(stream.last_at),
    }


def _counts_of(found: Mapping[str, Any]) -> CountStream:
    return CountStream(
        found["horizon"],
        found["asked"],
        tuple(Tally(at, bad, of) for at, bad, of in found["past"]),
        None if found["lawful"] is None else Levels(*found["lawful"]),
        None if found["wealth"] is None else _wealth_of(found["wealth"]),
        found["unlawful"],
        tuple(found["known"]),
        found["last_at"],
    )


def _scores(stream: ScoreStream) -> dict[str, Any]:
    return {
        "rule": plain_rule(stream.rule),
        "ranks": _wealth(stream.ranks.wealth),
        "past": b64encode(pack_rounds(stream.past)).decode("ascii"),
        "calibration": None if stream.calibration is None else _calibration(stream.calibration),
        "baseline": None if stream.baseline is None else [float(at) for at in stream.baseline],
        "bets": None if stream.bets is None else _bets(stream.bets),
        "rounds": stream.rounds,
        "last_at": None if stream.last_at is None else float(stream.last_at),
    }


def _scores_of(found: Mapping[str, Any]) -> ScoreStream:
    baseline = found["baseline"]
    return ScoreStream(
        rule_of(found["rule"]),
        PValueProcess(_wealth_of(found["ranks"])),
        unpack_rounds(b64decode(found["past"], validate=True)),
        None if found["calibration"] is None else _calibration_of(found["calibration"]),
        None if baseline is None else (baseline[0], baseline[1]),
        None if found["bets"] is None else _bets_of(found["bets"]),
        found["rounds"],
        found["last_at"],
    )


def _calibration(found: Calibration) -> dict[str, Any]:
    noise, levels = found.noise, found.levels
    return {
        "standing": found.standing.value,
        "reason": found.reason,
        "noise": None if noise is None else [float(one) for one in astuple(noise)],
        "levels": None if levels is None else _levels(levels),
    }


def _levels(levels: Levels) -> list[Any]:
    return [*map(float, (levels.hourly, levels.daily, levels.delta)), levels.days]


def _calibration_of(found: Mapping[str, Any]) -> Calibration:
    noise, levels = found["noise"], found["levels"]
    return Calibration(
        Standing(found["standing"]),
        found["reason"],
        None if noise is None else Noise(*noise),
        None if levels is None else Levels(*levels),
    )


def _bets(bets: Bets) -> dict[str, Any]:
    today = bets.today
    return {
        "hourly": {"lawful": float(bets.hourly.lawful), **_wealth(bets.hourly.wealth)},
        "daily": {"lawful": float(bets.daily.lawful), **_wealth(bets.daily.wealth)},
        "today": [today.day, float(today.total), today.rounds],
        "planned": bets.planned,
    }


def _bets_of(found: Mapping[str, Any]) -> Bets:
    hourly, daily = (EProcess(found[side]["lawful"], _wealth_of(found[side])) for side in ("hourly", "daily"))
    return Bets(hourly, daily, Today(*found["today"]), found["planned"])
