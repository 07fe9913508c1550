"""What one server process is told at its start."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """`served_name` None: any requested model name is accepted and echoed; `listed_name` (by default what the weights
    call themselves) is then the one that a list of models shows.

    `system_prompt` opens every conversation that has no system message. `seed` serves requests that bring none.
    At most `active_limit` requests are answered at a time and `queue_limit` wait; the next is told to come back.
    A client that takes nothing for `write_timeout_s` seconds is dropped. A request may take `request_s` seconds, None
    for as long as it likes. Those that run when the server is told to stop have `drain_s` seconds left.
    `bare_answer_tokens` has an answer whose request names no limit, None for what the context leaves.
    """

    profile: str = "fp32"
    served_name: str | None = None
    listed_name: str | None = None
    system_prompt: str | None = None
    chat_template: str | None = None
    seed: int | None = None
    active_limit: int = 64
    queue_limit: int = 64
    max_body_bytes: int = 4 * 1024 * 1024
    write_timeout_s: float = 60.0
    request_s: float | None = None
    drain_s: float = 20.0
    bare_answer_tokens: int | None = None
