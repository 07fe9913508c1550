"""The reference over HTTP: an OpenAI-compatible server in front of one `ReferenceBackend`."""

from reference_engine.server.app import create_app
from reference_engine.server.settings import ServerSettings

__all__ = ["ServerSettings", "create_app"]
