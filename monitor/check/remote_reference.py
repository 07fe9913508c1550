"""A reference that is another endpoint: who it is, and what makes it another one."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from importlib.metadata import version

from monitor.config import EndpointConfig
from monitor.drift.cause import ENDPOINT
from monitor.store import ReferenceIdentity
from probes.target import Target

# What tells a run's reference from weights, whose fingerprints have no prefix.
PREFIX = "endpoint:"


def is_endpoint(fingerprint: str | None) -> bool:
    """Whether a run's reference of this fingerprint was another endpoint."""
    return fingerprint is not None and fingerprint.startswith(PREFIX)


@dataclass(frozen=True, slots=True)
class RemoteReference:
    """Nothing of it is open, and nothing asked, before a check does."""

    config: EndpointConfig

    def target(self) -> Target:
        """Raises SecretError where its key is not there."""
        return self.config.target()

    @property
    def name(self) -> str:
        return self.config.slug

    @property
    def identity(self) -> ReferenceIdentity:
        """What is asked where, and not by which key, how often or at which price: under another name it is the same."""
        one = self.config
        facts = [one.api, one.base_url, one.name, dict(one.extra_body)]
        digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
        return ReferenceIdentity(f"{PREFIX}{digest}", ENDPOINT, version("endpoint-monitor"), (ENDPOINT,))
