"""Opens what an endpoint is held against: the engine, or its tokenizer alone, or nothing."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import version
from types import TracebackType
from typing import Self

from monitor.config import ReferenceConfig
from monitor.errors import ConfigError
from monitor.expectation import reference_fingerprint
from monitor.store import ReferenceIdentity
from reference_engine import ReferenceBackend, TokenizerBackend, load_engine, load_tokenizer
from reference_engine.bundle import resolve_model


@dataclass(frozen=True, slots=True)
class OpenReference:
    """`engine` is None where only the tokenizer is known; `identity` names everything an expectation depends on."""

    engine: ReferenceBackend | None
    tokenizer: TokenizerBackend | None
    allowed: tuple[str, ...]
    identity: ReferenceIdentity | None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.engine is not None:
            self.engine.close()


def open_reference(config: ReferenceConfig | None) -> OpenReference:
    """Load weights or tokenizer; raises EngineError (exit 6) where the files do not serve."""
    if config is None:
        return OpenReference(None, None, (), None)
    if config.weights is None:
        if config.tokenizer is None:
            raise ConfigError("A reference names neither weights nor tokenizer.", remedy="Give one of them.")
        return OpenReference(None, load_tokenizer(config.tokenizer), (), None)
    engine = load_engine(resolve_model(config.weights))
    known = engine.describe().profiles
    identity = ReferenceIdentity(
        reference_fingerprint(engine), "reference-engine", version("endpoint-monitor"), tuple(known)
    )
    return OpenReference(engine, engine, config.allowed_profiles, identity)
