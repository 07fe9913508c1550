"""Cases sent by the real client to a real server, and scored."""

from __future__ import annotations

from collections import Counter
from typing import Any

from probes.plan import Item, Plan, ProbeKind
from probes.tools.case import Case, Category, Trigger
from probes.tools.score import score
from probes.tools.scored import Availability, Exclusion, Fault
from tests.endpoints.server import Connection, Received, ScriptedServer
from tests.probes.sending import send, target
from tests.probes.tools.answers import body, call, case, exactly

GOOD = '{"berth": 7, "vessel": "Petrel"}'


def named(user: str, **settings: Any) -> Case:
    return case(exactly("book", berth=7, vessel="Petrel"), settings={"user": user, **settings})


CASES = {
    "plain": named("plain"),
    "stream": named("stream"),
    "shed": named("shed"),
    "limited": named("limited"),
    "broken off": named("broken off"),
    "object": named("object"),
    "refused": named("refused"),
    "invalid": case(
        trigger=Trigger.FREE,
        category=Category.T10,
        settings={"user": "invalid", "tool_choice": "perhaps"},
        rejected=True,
        answered=False,
        refusal_names=("tool_choice",),
    ),
}


class Stand:
    """Answers by what `user` says."""

    def __init__(self) -> None:
        self.asked: Counter[str] = Counter()

    async def __call__(self, received: Received, connection: Connection) -> None:
        user = received.json["user"]
        self.asked[user] += 1
        if user == "shed" and self.asked[user] == 1:
            await connection.reply(503, {"error": {"message": "overloaded"}})
        elif user == "limited":
            await connection.reply(429, {"error": {"message": "slow down"}})
        elif user == "invalid":
            await connection.reply(400, {"error": {"message": "Invalid value", "param": "tool_choice"}})
        elif user == "refused":
            await connection.reply(400, {"error": {"message": "This model has no tools."}})
        elif received.json["stream"]:
            await self._stream(connection, ends=user == "stream")
        else:
            await connection.reply(200, body(call("book", {"berth": 7} if user == "object" else GOOD)))

    async def _stream(self, connection: Connection, *, ends: bool) -> None:
        chunk = {"id": "c", "object": "chat.completion.chunk", "model": "m"}
        await connection.begin()
        for text in (GOOD[:9], GOOD[9:]):
            entry = {"index": 0, **(call("book", text) if text == GOOD[:9] else {"function": {"arguments": text}})}
            delta = {"index": 0, "delta": {"tool_calls": [entry]}, "finish_reason": None}
            await connection.event({**chunk, "choices": [delta]})
        if ends:
            await connection.event({**chunk, "choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
            await connection.event("[DONE]")
        await connection.end()


def test_what_the_client_brings_home_is_scored() -> None:
    items = [
        Item(f"{one.key}-{name}", 0, {**one.request, "stream": name in ("stream", "broken off")})
        for name, one in CASES.items()
    ]
    with ScriptedServer(Stand()) as server:
        plan = Plan(ProbeKind.TOOL_CALLS, tuple(items), "0" * 64, "1")
        answers = send(target(server.base_url, max_concurrency=1), plan)
    assert answers.error is None
    scored = {name: score(one, sample) for (name, one), sample in zip(CASES.items(), answers.samples, strict=True)}

    assert {name for name, one in scored.items() if one.right} == {"plain", "stream", "shed", "invalid"}
    assert {name for name, one in scored.items() if one.stream} == {"stream", "broken off"}
    assert {name: one.excluded for name, one in scored.items() if one.excluded} == {
        "limited": Exclusion.RATE_LIMITED,
        "broken off": Exclusion.TRANSPORT,
        "refused": Exclusion.REFUSED,
    }
    assert scored["object"].faults == {Fault.CALL_BROKEN}
    assert scored["shed"].availability == Availability(first_ok=False, eventually_ok=True, shed=True)
    assert scored["limited"].availability == Availability(first_ok=False, eventually_ok=False, shed=True)
    assert scored["plain"].availability == Availability(first_ok=True, eventually_ok=True, shed=False)
