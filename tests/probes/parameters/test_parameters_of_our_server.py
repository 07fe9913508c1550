"""The parameter probe against our own engine's server, in front of a reference that is instant."""

from __future__ import annotations

from typing import Any

from probes.parameters.judgement import Effect
from probes.parameters.probe import NAMES, judge, plan
from reference_engine.server import ServerSettings
from tests.probes.sending import send, target
from tests.reference_engine.server.conftest import running
from tests.reference_engine.server.tiny_backend import TinyBackend

# The tiny reference calls no tool, and its letters may miss a stop.
UNSHOWN = frozenset({"stop", "tool_choice.none", "tool_choice.required", "tool_choice.named"})


def test_what_our_server_takes_acts_and_what_it_does_not_is_refused_by_name() -> None:
    backend: Any = TinyBackend(context_length=4096)
    only = [name for name in NAMES if name not in UNSHOWN]
    with running(backend, ServerSettings()) as url:
        made = plan(bytes(32), b"nonce", only=only, tokenizer=backend)
        samples = send(target(f"{url}/v1", served_name="tiny"), made).samples

    found = {f"{one.parameter}.{one.aspect}".rstrip("."): one.effect for one in judge(samples, backend)}

    acting = {"temperature", "top_p", "seed", "max_tokens", "n"}
    assert found == {name: Effect.ACTS if name in acting else Effect.REFUSED for name in only}
