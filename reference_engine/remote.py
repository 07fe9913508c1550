"""A reference that another process computes: the interface over a reference service, without the tensor library."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from reference_engine import bundle, wire
from reference_engine.errors import EngineRequestError
from reference_engine.interface import (
    Address,
    Description,
    GeneratedToken,
    Message,
    Rendered,
    SamplingParams,
    Scored,
    TokenDistribution,
    Tool,
)
from reference_engine.service import ReferenceService

if TYPE_CHECKING:
    from reference_engine.constraint import Constraint

TIMEOUT_S = 900.0
PATIENCE_S = 10.0

T = TypeVar("T")


class RemoteTokenizer:
    """Implements TokenizerBackend. Safe for several threads.

    Raises what the tokenizer in this process would raise, and EngineError where the service cannot be asked. The files
    are those of the service's machine; once they change, every question raises EngineError.
    """

    _KIND: ClassVar[str] = "tokenizer"

    def __init__(
        self,
        url: str,
        model: str | Path,
        *,
        token: str | None = None,
        timeout_s: float = TIMEOUT_S,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self._service = ReferenceService(url, token=token, timeout_s=timeout_s, patience_s=patience_s)
        self._asked: dict[str, Any] = {"model": _name(model)}
        self._bytes: dict[int, bytes] = {}
        self._asked["revision"] = self._ask("open", lambda answer: str(answer["revision"]))

    def tokenize(self, text: str, *, parse_special: bool = True) -> list[int]:
        return self._ask("tokenize", lambda answer: list(answer["ids"]), text=text, parse_special=parse_special)

    def token_bytes(self, token_id: int) -> bytes:
        """Kept for good, and asked for with the tokens around it: thousands are wanted, one at a time."""
        known = self._bytes.get(token_id)
        if known is not None:
            return known
        found = self._ask("token_bytes", wire.read_token_bytes, token_id=token_id)
        self._bytes |= found
        return found[token_id]

    def render(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool] | None = None,
        *,
        chat_template: str | None = None,
        add_generation_prompt: bool = True,
    ) -> Rendered:
        return self._ask(
            "render",
            wire.read_rendered,
            messages=list(messages),
            tools=None if tools is None else list(tools),
            chat_template=chat_template,
            add_generation_prompt=add_generation_prompt,
        )

    def is_current(self) -> bool:
        """Whether the files are still those that were opened: every question is refused once they are not."""
        return self._ask("open", lambda answer: bool(answer["revision"] == self._asked["revision"]), revision=None)

    def close(self) -> None:
        """Closes the connections; the service keeps the model for the next who asks."""
        self._service.close()

    def _ask(self, question: str, read: Callable[[Any], T], **values: Any) -> T:
        answer = self._service.ask(f"/v1/{self._KIND}/{question}", self._asked | values)
        try:
            return read(answer)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._service.unreadable() from error


class RemoteEngine(RemoteTokenizer):
    """Implements ServedBackend: `model` is `bundled`, or the path of weights on the service's machine."""

    _KIND = "engine"

    def describe(self) -> Description:
        return self._ask("describe", lambda answer: wire.read_description(answer["description"]))

    def fingerprint(self, profile: str) -> str:
        return self._ask("fingerprint", lambda answer: str(answer["fingerprint"]), profile=profile)

    def score(
        self,
        ids: Sequence[int],
        *,
        start: int = 0,
        top_k: int = 20,
        token_ids: Sequence[int] | None = None,
        profile: str = "fp32",
    ) -> Scored:
        return self._ask(
            "score",
            wire.read_scored,
            ids=list(ids),
            start=start,
            top_k=top_k,
            token_ids=None if token_ids is None else list(token_ids),
            profile=profile,
        )

    def next_tokens(
        self,
        prompts: Sequence[Sequence[int]],
        *,
        top_k: int = 20,
        token_ids: Sequence[Sequence[int]] | None = None,
        profile: str = "fp32",
    ) -> list[TokenDistribution]:
        return self._ask(
            "next_tokens",
            lambda answer: [wire.read_distribution(each) for each in answer["distributions"]],
            prompts=[list(prompt) for prompt in prompts],
            top_k=top_k,
            token_ids=None if token_ids is None else [list(wanted) for wanted in token_ids],
            profile=profile,
        )

    def generate(
        self,
        ids: Sequence[int],
        params: SamplingParams,
        *,
        profile: str = "fp32",
        constraint: Constraint | None = None,
    ) -> Iterator[GeneratedToken]:
        """The tokens arrive all at once, when the last is computed. Raises EngineRequestError for a constraint."""
        if constraint is not None:
            raise EngineRequestError(
                "A reference in another process holds no answer to a constraint.",
                remedy="Load the model in this process, or ask `reference-engine serve` with response_format.",
            )
        tokens = self._ask(
            "generate",
            lambda answer: [wire.read_generated(each) for each in answer["tokens"]],
            ids=list(ids),
            params=wire.params_document(params),
            profile=profile,
        )
        return iter(tokens)

    def served(self, profile: str) -> Address:
        """Beside the questions, behind the same token. Several conversations go at a time, and a restart of the service
        ends none; one with changed files is refused."""
        return self._ask("converse", lambda answer: self._service.served_at(str(answer["path"])), profile=profile)


def load_remote_tokenizer(url: str, path: str | Path, *, token: str | None = None) -> RemoteTokenizer:
    """The tokenizer and template of a GGUF file, a model folder or a tokenizer.json on the service's machine."""
    return RemoteTokenizer(url, path, token=token)


def _name(model: str | Path) -> str:
    """A known model by its name, anything else as an absolute path: the service has another working directory."""
    return str(model) if bundle.is_known(model) else str(Path(model).expanduser().absolute())
