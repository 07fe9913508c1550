"""The lines of the children, passed on."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from monitor.service.relay import Relay, as_json, prefixed


def told(pieces: list[bytes], *, form: str = "text") -> list[str]:
    lines: list[str] = []
    relay = Relay("web", as_json if form == "json" else prefixed, lines.append)
    for piece in pieces:
        relay.feed(piece)
    relay.close()
    return lines


@given(st.lists(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1)), st.data())
def test_every_line_arrives_once_however_it_was_cut(lines: list[str], data: st.DataObject) -> None:
    whole = "\n".join(lines).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)))))
    pieces = [whole[start:end] for start, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)]

    assert told(pieces) == [f"web       | {line}\n" for line in lines]


def test_a_secret_and_a_control_character_are_taken_out() -> None:
    (line,) = told([b"api_key=canary-canary \x1b[31mred\n"])
    assert "canary" not in line
    assert "\x1b" not in line


def test_what_never_ends_a_line_is_passed_on_in_parts() -> None:
    assert len(told([b"x" * 50_000] * 4)) == 2


def test_as_json_every_line_is_an_object() -> None:
    lines = told([b'{"level":"info"}\nplain "text"\n'], form="json")
    assert [json.loads(line) for line in lines] == [{"level": "info"}, {"process": "web", "message": 'plain "text"'}]
