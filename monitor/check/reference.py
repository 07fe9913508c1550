"""Opens what an endpoint is held against: the engine, or its tokenizer alone, or nothing; here or in a service."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from importlib.metadata import version
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import Self

from monitor.check.remote_reference import RemoteReference
from monitor.config import EndpointConfig, ReferenceConfig
from monitor.errors import ConfigError
from monitor.expectation import reference_fingerprint
from monitor.settings import Settings, load_settings
from monitor.store import ReferenceIdentity
from reference_engine import Description, ReferenceBackend, TokenizerBackend, load_engine, load_tokenizer
from reference_engine.bundle import resolve_model
from reference_engine.remote import RemoteEngine, RemoteTokenizer, load_remote_tokenizer


@dataclass(frozen=True, slots=True)
class OpenReference:
    """`engine` is None where only the tokenizer is known; `identity` names everything an expectation depends on.
    `turn` is held by whoever uses an engine of this process, one thread at a time; a service has many askers anyway.
    `remote` is another endpoint that is asked in an engine's place."""

    engine: ReferenceBackend | None
    tokenizer: TokenizerBackend | None
    allowed: tuple[str, ...]
    identity: ReferenceIdentity | None
    description: Description | None = None
    remote: RemoteReference | None = None
    turn: AbstractContextManager[object] = field(default_factory=RLock, compare=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.engine is not None:
            self.engine.close()
        elif isinstance(self.tokenizer, RemoteTokenizer):
            self.tokenizer.close()

    @property
    def answers(self) -> bool:
        """Whether it says anything to prompts that were never asked before."""
        return self.engine is not None or self.remote is not None

    @property
    def beside(self) -> EndpointConfig | None:
        """The endpoint that is asked in an engine's place."""
        return None if self.remote is None else self.remote.config

    def is_current(self) -> bool:
        """Whether its service has the files still that were opened there. Raises EngineError where nobody answers."""
        return not isinstance(self.tokenizer, RemoteTokenizer) or self.tokenizer.is_current()


def open_reference(config: ReferenceConfig | None) -> OpenReference:
    """Load weights or tokenizer, or have MONITOR_REFERENCE_URL's service do so.

    Raises EngineError (exit 6) where the files do not serve, or nobody answers.
    """
    if config is None:
        return OpenReference(None, None, (), None)
    if config.endpoint is not None:
        remote = RemoteReference(config.endpoint)
        return OpenReference(None, None, (), remote.identity, remote=remote)
    if config.weights is None:
        if config.tokenizer is None:
            raise ConfigError("A reference names neither weights nor tokenizer.", remedy="Give one of them.")
        return OpenReference(None, _tokenizer(config.tokenizer, load_settings()), (), None)
    engine = _engine(config.weights, load_settings())
    description = engine.describe()
    identity = ReferenceIdentity(
        reference_fingerprint(engine, config.allowed_profiles),
        "reference-engine",
        version("endpoint-monitor"),
        description.profiles,
    )
    opened = OpenReference(engine, engine, config.allowed_profiles, identity, description)
    return replace(opened, turn=nullcontext()) if isinstance(engine, RemoteEngine) else opened


def open_tokenizer(config: ReferenceConfig | None) -> OpenReference:
    """For whoever only counts tokens: weights of this process are not loaded, and `engine` may be None beside them."""
    if config is None or config.weights is None or load_settings().reference_url is not None:
        return open_reference(config)
    return OpenReference(None, load_tokenizer(resolve_model(config.weights)), (), None)


def _engine(weights: Path | str, settings: Settings) -> ReferenceBackend:
    if settings.reference_url is None:
        return load_engine(resolve_model(weights))
    return RemoteEngine(settings.reference_url, weights, token=_token(settings))


def _tokenizer(path: Path, settings: Settings) -> TokenizerBackend:
    if settings.reference_url is None:
        return load_tokenizer(path)
    return load_remote_tokenizer(settings.reference_url, path, token=_token(settings))


def _token(settings: Settings) -> str | None:
    return None if settings.reference_token is None else settings.reference_token.get_secret_value()
