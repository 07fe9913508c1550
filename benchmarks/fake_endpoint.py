"""An endpoint that costs next to nothing, in a process of its own: to a request it has the same answer every time.

    .venv/bin/python -m benchmarks.fake_endpoint [--delay 0.05]

Prints its base URL. Answers are chat completions of one token with twenty log-probabilities, of 64 kinds that differ
in their tokens; to a request with tools, calls of a tool `search`, of which one kind in 16 has wrong arguments.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import math
import subprocess
import sys
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_END_OF_HEAD = b"\r\n\r\n"
_LENGTH = b"content-length:"
_ids = itertools.count()


def _answer(number: int) -> tuple[bytes, bytes]:
    """The body before the id, and after it; each number has tokens of its own."""
    names = [f" word{number}-{i}" for i in range(20)]
    top = [
        {"token": name, "logprob": -(i + 1) * math.log(2), "bytes": list(name.encode())} for i, name in enumerate(names)
    ]
    return _body(
        {
            "index": 0,
            "message": {"role": "assistant", "content": names[0]},
            "logprobs": {"content": [{**top[0], "top_logprobs": top}]},
            "finish_reason": "length",
        }
    )


def _call(number: int) -> tuple[bytes, bytes]:
    arguments = {"query": f"word{number}", "limit": "many" if number % 16 == 0 else number + 1}
    function = {"name": "search", "arguments": json.dumps(arguments)}
    message = {
        "role": "assistant",
        "content": None,
        "tool_calls": [{"id": f"call_{number}", "type": "function", "function": function}],
    }
    return _body({"index": 0, "message": message, "finish_reason": "tool_calls"})


def _body(choice: dict[str, Any]) -> tuple[bytes, bytes]:
    rest = {
        "object": "chat.completion",
        "created": 1760000000,
        "model": "lark",
        "choices": [choice],
        "usage": {"prompt_tokens": 40, "completion_tokens": 1, "total_tokens": 41},
    }
    return b'{"id": "chatcmpl-', b'", ' + json.dumps(rest).encode()[1:]


_ANSWERS = [_answer(number) for number in range(64)]
_CALLS = [_call(number) for number in range(64)]


class _Endpoint(asyncio.Protocol):
    def __init__(self, delay: float) -> None:
        self._delay = delay
        self._waiting = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: Any = transport

    def data_received(self, data: bytes) -> None:
        self._waiting += data
        while (length := self._next_request()) is not None:
            asked = self._waiting[:length].partition(_END_OF_HEAD)[2]
            self._waiting = self._waiting[length:]
            answers = _CALLS if b'"tools":' in asked else _ANSWERS
            answer = answers[zlib.crc32(asked) % len(answers)]
            if self._delay:
                asyncio.get_running_loop().call_later(self._delay, self._reply, answer)
            else:
                self._reply(answer)

    def _next_request(self) -> int | None:
        """The length of the request that has arrived in whole."""
        head = self._waiting.find(_END_OF_HEAD)
        if head < 0:
            return None
        place = self._waiting[:head].lower().find(_LENGTH)
        length = int(self._waiting[place + len(_LENGTH) :].split(b"\r", 1)[0]) if place >= 0 else 0
        whole = head + len(_END_OF_HEAD) + length
        return whole if len(self._waiting) >= whole else None

    def _reply(self, answer: tuple[bytes, bytes]) -> None:
        body = (b"%d" % next(_ids)).join(answer)
        head = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
        self._transport.write(head + body)


async def _serve(delay: float) -> None:
    server = await asyncio.get_running_loop().create_server(lambda: _Endpoint(delay), "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", flush=True)
    await server.serve_forever()


@contextmanager
def fake_endpoint(delay: float = 0.0) -> Iterator[str]:
    """Its base URL, while it runs; it answers after `delay` seconds."""
    command = [sys.executable, "-m", "benchmarks.fake_endpoint", "--delay", str(delay)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.communicate()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--delay", type=float, default=0.0, help="seconds before each answer")
    asyncio.run(_serve(parser.parse_args().delay))
