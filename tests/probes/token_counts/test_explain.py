"""What makes prompt counts differ is named; and the ladder tells every two causes apart."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from probes.completion import Completion, Usage
from probes.plan import Item, Outcome, ProbeKind, Sample
from probes.quirks import Disposition
from probes.token_counts.explain import EXACT, Explanation, explanations, untold_tools
from probes.token_counts.ladder import plan
from probes.token_counts.renderings import PromptCount, prompt_counts
from tests.endpoints.lawful import Lawful
from tests.endpoints.server import Connection, Received, ScriptedServer
from tests.probes.sending import send, target
from tests.probes.token_counts.templated import OLDER, TEMPLATE, WITHOUT_DEFAULT, WITHOUT_TOOLS, Templated

SEED = bytes(range(32))
REFERENCE = Templated()
REVISIONS = {"older": OLDER}

Request = Mapping[str, Any]
Counting = Callable[[Request], int]


def rendered(request: Request, *, template: str = TEMPLATE, **more: Any) -> int:
    changed = {**request, **more}
    return len(Templated(template).render(changed["messages"], changed.get("tools")).ids)


def counted(count: Counting) -> list[PromptCount]:
    samples = [sample(item, count(item.request)) for item in plan(SEED).items]
    return prompt_counts(samples, REFERENCE, REVISIONS)


def sample(item: Item, tokens: int | None) -> Sample:
    usage = Usage(prompt_tokens=tokens)
    return Sample(item, Outcome.OK, Completion(Disposition.ACCEPT, (), 200, usage=usage), ())


def told(request: Request, change: Callable[[dict[str, Any]], dict[str, Any]]) -> list[dict[str, Any]]:
    return [change(tool) for tool in request.get("tools", ())]


def without_system(request: Request) -> list[Any]:
    return [one for one in request["messages"] if one["role"] != "system"]


def has_system(request: Request) -> bool:
    return len(without_system(request)) < len(request["messages"])


FAULTS: list[tuple[str, Counting, set[Explanation]]] = [
    ("none", rendered, {EXACT}),
    ("hidden prompt", lambda request: rendered(request) + 37, {Explanation("hidden system prompt", 37)}),
    (
        "one more",
        lambda request: rendered(request) + 1,
        {Explanation("hidden system prompt", 1), Explanation("start token said twice", 1)},
    ),
    (
        "one less",
        lambda request: rendered(request) - 1,
        {Explanation("start token left out", -1), Explanation("part of the template left out", -1)},
    ),
    (
        "no generation prompt",
        lambda request: rendered(request) - len("<s>assistant|"),
        {Explanation("no generation prompt"), Explanation("part of the template left out", -13)},
    ),
    (
        "default prompt",
        lambda request: rendered(request, template=WITHOUT_DEFAULT),
        {Explanation("default system prompt left out", -len("<s>system|You help.<e>"))},
    ),
    (
        "another default",
        lambda request: rendered(request) + (0 if has_system(request) else 24),
        {Explanation("default system prompt added", 24)},
    ),
    (
        "no tools",
        lambda request: rendered(request, tools=None),
        {Explanation("tools left out"), Explanation("tools written in another form")},
    ),
    (
        "bare functions",
        lambda request: rendered(request, tools=told(request, lambda tool: tool["function"])),
        {Explanation("tools written as bare functions"), Explanation("tools written in another form")},
    ),
    (
        "strict functions",
        lambda request: rendered(
            request, tools=told(request, lambda tool: {**tool, "function": {**tool["function"], "strict": False}})
        ),
        {Explanation("tools written with strict: false"), Explanation("tools written in another form")},
    ),
    (
        "tools in other words",
        lambda request: rendered(request) + (11 if request.get("tools") else 0),
        {Explanation("tools introduced by other words", 11)},
    ),
    (
        "indented tools",
        lambda request: rendered(request, template=TEMPLATE.replace("tojson", "tojson(indent=4)")),
        {Explanation("tools written in another form")},
    ),
    ("older template", lambda request: rendered(request, template=OLDER), {Explanation("template older")}),
    (
        "no system message",
        lambda request: rendered(request, messages=without_system(request)),
        {Explanation("system message left out")},
    ),
    (
        "trimmed",
        lambda request: rendered(
            request, messages=[{**one, "content": one["content"].strip()} for one in request["messages"]]
        ),
        {Explanation("blanks at the ends of messages left out")},
    ),
    (
        "history cut",
        lambda request: rendered(
            request,
            messages=[one for one in request["messages"][:-1] if one["role"] == "system"] + request["messages"][-1:],
        ),
        {Explanation("history left out")},
    ),
    (
        "older template and a hidden prompt",
        lambda request: rendered(request, template=OLDER) + 9,
        {Explanation("template older", 9)},
    ),
    ("another tokenizer", lambda request: rendered(request) * 3 // 4, set()),
]


@pytest.mark.parametrize(("count", "names"), [fault[1:] for fault in FAULTS], ids=[fault[0] for fault in FAULTS])
def test_a_cause_is_named_with_those_that_no_request_tells_from_it(count: Counting, names: set[Explanation]) -> None:
    assert set(explanations(counted(count))) == names


def test_a_template_without_tools_expects_nothing_of_requests_with_them() -> None:
    reference = Templated(WITHOUT_TOOLS)
    samples = [sample(item, 40) for item in plan(SEED).items]
    counts = prompt_counts(samples, reference)

    assert [count.unknown for count in counts if count.has_tools] == ["the reference's template knows no tools"] * 3
    assert all(count.expected is not None for count in counts if not count.has_tools)


@pytest.mark.parametrize(("told", "untold"), [(0, 2), (1, 0)])
def test_tools_that_no_template_writes_are_missed_where_they_add_nothing_to_any_prompt(told: int, untold: int) -> None:
    def count(request: Request) -> int:
        written = told if len(request.get("tools", ())) > 1 else 0
        return rendered(request, template=WITHOUT_TOOLS, tools=None) + written

    samples = [sample(item, count(item.request)) for item in plan(SEED).items]
    assert untold_tools(prompt_counts(samples, Templated(WITHOUT_TOOLS))) == untold
    assert untold_tools(counted(rendered)) == 0


def test_few_counts_explain_nothing() -> None:
    assert explanations(counted(rendered)[:2]) == ()


def test_a_sample_without_a_count_is_left_out() -> None:
    assert prompt_counts([sample(plan(SEED).items[0], None)], REFERENCE) == []


def test_the_ladder_has_sixteen_steps_of_one_token_and_three_sizes_of_tools() -> None:
    made = plan(SEED)

    assert made.probe is ProbeKind.ACCOUNTING
    assert len({item.key for item in made.items}) == len(made.items) == 16
    assert sorted(len(item.request.get("tools", ())) for item in made.items)[-3:] == [1, 1, 8]
    assert {item.request["max_tokens"] for item in made.items} == {1}
    assert made == plan(SEED) != plan(bytes(32))
    texts, others = ({str(item.request) for item in plan(seed).items} for seed in (SEED, bytes(32)))
    assert not texts & others


def test_an_endpoint_with_a_hidden_prompt_is_found_through_the_wire() -> None:
    async def handler(received: Received, connection: Connection) -> None:
        body = Lawful().whole(received.json)
        tokens = rendered(received.json) + 12
        await connection.reply(200, {**body, "usage": {"prompt_tokens": tokens, "completion_tokens": 1}})

    with ScriptedServer(handler) as server:
        samples = send(target(server.base_url), plan(SEED)).samples

    found = explanations(prompt_counts(samples, REFERENCE))
    assert found == (Explanation("hidden system prompt", 12),)
