"""The channels that a drill has to reach: those that the service sends to, as they are configured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from monitor.config import Config, load_config, may_be_there, suggestion
from monitor.config.objects import NO_FILE
from monitor.deliveries.notice import NoticeType
from monitor.deliveries.routes import Routes
from monitor.deliveries.signature import new_secret
from monitor.drill.receiver import own_receiver
from monitor.errors import NotFoundError, UsageError
from monitor.store import Store
from monitor.store.config import ConfigObjects
from monitor.store.deliveries import Deliveries

OWN = "own-receiver"


@dataclass(frozen=True, slots=True)
class Chosen:
    """`bodies` are channels as a configuration says them; paths in them count from the folder of `path`. `off`: those
    that the service has switched off, and so would not send to."""

    bodies: Sequence[Mapping[str, Any]]
    path: Path
    off: frozenset[str] = frozenset()

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(str(body["id"]) for body in self.bodies)


def configured_channels(store: Store | None, path: Path, only: str | None) -> Chosen:
    """Every channel that hears of a firing alert, or `only` that one: of the configuration that counts, which is the
    file where none was applied yet. Raises NotFoundError for one that is not there."""
    config = _config(store, path)
    if config is None:
        if only is not None:
            raise NotFoundError(
                f"There is no channel '{only}'.", remedy=f"No channel is configured: there is no {path}."
            )
        return Chosen((), NO_FILE)
    routes = Routes.of(config.file)
    document: Any = config.document.data
    bodies = {str(body["id"]): body for body in document.get("channels") or ()}
    if only is not None and only not in bodies:
        raise NotFoundError(
            f"No channel '{only}' is configured; {suggestion(only, bodies)}",
            remedy="`monitor config export` shows those that are.",
        )
    wanted = [name for name in bodies if only in (None, name) and routes.hears(name, NoticeType.FIRING)]
    if bodies and not wanted:
        raise UsageError(
            f"{'No channel hears' if only is None else f'{only} does not hear'} of firing alerts.",
            remedy=f"Add {NoticeType.FIRING.value} to its events.",
        )
    return Chosen([bodies[name] for name in wanted], config.path, _switched_off(store))


def _config(store: Store | None, path: Path) -> Config | None:
    applied = ConfigObjects(store.sessions) if store is not None else None
    if applied is not None and applied.all():
        return applied.config()
    return load_config(path) if may_be_there(path) else None


def _switched_off(store: Store | None) -> frozenset[str]:
    states = Deliveries(store.sessions).channels() if store is not None else ()
    return frozenset(state.channel for state in states if state.disabled_at is not None)


@contextmanager
def reachable(chosen: Chosen, folder: Path) -> Iterator[Chosen]:
    """The same; where there is none, a receiver of the drill's own, which runs as long as the block."""
    if chosen.bodies:
        yield chosen
        return
    secret, kept = new_secret(), folder.absolute() / "secret"
    kept.write_text(secret, encoding="utf-8")
    with own_receiver(secret) as url:
        yield Chosen([{"id": OWN, "url": url, "secret": f"${{file:{kept}}}", "allow_private": True}], NO_FILE)
