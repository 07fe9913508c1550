"""F3: how log-probabilities can be had, asked of real servers."""

from __future__ import annotations

from probes.plan import Outcome, Sample
from probes.profile.availability import Availability, LogprobAccess, access, plan
from tests.endpoints import hostile
from tests.endpoints.echoing import both
from tests.endpoints.lawful import Lawful
from tests.endpoints.server import Connection, Handler, Received, ScriptedServer
from tests.probes.sending import send, target

SEED, NONCE = bytes(32), b"nonce"


def asked(handler: Handler) -> dict[str, LogprobAccess]:
    with ScriptedServer(handler) as server:
        samples = send(target(server.base_url), plan(SEED, NONCE)).samples
    return {one.way: one for one in access(samples)}


def test_an_endpoint_with_everything_has_all_four_ways() -> None:
    found = asked(both(echo=True))

    assert {one.availability for one in found.values()} == {Availability.AVAILABLE}
    assert (found["chat"].shape, found["text"].shape) == ("chat", "completions")
    assert found["chat-many"].top_k == "all"
    assert [found[way].of_prompt for way in ("chat", "text", "echo")] == [None, None, True]


def test_an_echo_that_is_ignored_and_a_short_list_show() -> None:
    found = asked(both(echo=False, top=5))

    assert found["echo"].of_prompt is False
    assert (found["chat"].top_k, found["chat-many"].top_k) == ("all", "at most 5")


def test_a_way_that_is_refused_is_told_from_one_that_brings_nothing() -> None:
    async def handler(received: Received, connection: Connection) -> None:
        if not received.path.endswith("/chat/completions"):
            await connection.reply(404, hostile.error("Not found"))
        elif received.json["top_logprobs"] > 5:
            await connection.reply(400, hostile.error("top_logprobs must be at most 5"))
        else:
            body = Lawful().whole({**received.json, "logprobs": None})
            await connection.reply(200, body)

    found = asked(handler)

    assert {way: one.availability for way, one in found.items()} == {
        "chat": Availability.ABSENT,
        "chat-many": Availability.REFUSED,
        "text": Availability.REFUSED,
        "echo": Availability.REFUSED,
    }


def test_a_timeout_leaves_it_unclear() -> None:
    items = plan(SEED, NONCE).items

    found = access([Sample(item, Outcome.TIMEOUT, None, ()) for item in items])

    assert {one.availability for one in found} == {Availability.UNCLEAR}
