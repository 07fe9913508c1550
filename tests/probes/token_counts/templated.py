"""A tokenizer of bytes behind a real chat template: the references that counts are held against in these tests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reference_engine.chat import ChatTemplate
from reference_engine.interface import Rendered

TEMPLATE = (
    "{%- if messages[0].role != 'system' %}<s>system|You help.<e>{% endif %}"
    "{%- for m in messages %}<s>{{ m.role }}|"
    "{%- if loop.first and tools %}Tools: {% for t in tools %}{{ t | tojson }}\n{% endfor %}{% endif %}"
    "{{ m.content }}{% for c in m.tool_calls or [] %}<call>{{ c.function | tojson }}{% endfor %}<e>{% endfor %}"
    "{%- if add_generation_prompt %}<s>assistant|{% endif %}"
)
WITHOUT_DEFAULT = TEMPLATE.replace("<s>system|You help.<e>", "")
WITHOUT_TOOLS = "{% for m in messages %}<s>{{ m.role }}|{{ m.content }}<e>{% endfor %}<s>assistant|"
OLDER = TEMPLATE.replace("<s>", "<|im_start|>").replace("<e>", "<|im_end|>\n")


class Templated:
    """One token for each byte."""

    def __init__(self, template: str = TEMPLATE) -> None:
        self._template = ChatTemplate(template, {})

    def tokenize(self, text: str, *, parse_special: bool = True) -> list[int]:
        return list(text.encode())

    def token_bytes(self, token_id: int) -> bytes:
        return bytes([token_id])

    def render(
        self,
        messages: Sequence[Any],
        tools: Sequence[Any] | None = None,
        *,
        chat_template: str | None = None,
        add_generation_prompt: bool = True,
    ) -> Rendered:
        text = self._template.render(
            messages, tools, chat_template=chat_template, add_generation_prompt=add_generation_prompt
        )
        told = self._template.tools_rendered(tools, chat_template=chat_template)
        return Rendered(text, tuple(self.tokenize(text)), told)
