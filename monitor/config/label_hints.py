"""Whether what a `match` names is there at all: a mistyped label would match nothing, and nobody would be told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from monitor.config.matching import fits
from monitor.config.suggestion import suggestion

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping, Sequence

    from monitor.config.load import Config
    from monitor.config.problems import KeyPath
    from monitor.config.service import Maintenance, Route, Rule, Schedule

# What alerts carry beside the labels of their endpoint.
ALERT_LABELS = ("endpoint", "metric", "probe", "rule", "severity")

_SLUGS = ("provider", "model")


def label_hints(config: Config) -> Iterator[tuple[KeyPath, str]]:
    """A note for each label that no endpoint has, and for each provider or model that is not there."""
    labels = [endpoint.matching_labels for entry in config.file.providers for endpoint in config.endpoints(entry.slug)]
    if not labels:
        return
    names = sorted({name for found in labels for name in found})
    values = {slug: sorted({found[slug] for found in labels}) for slug in _SLUGS}
    for path, matchers in _matchers(config):
        known = names if path[0] == "schedules" else [*names, *ALERT_LABELS]
        yield from _hints(path, matchers, known, values)


def _matchers(config: Config) -> Iterator[tuple[KeyPath, Mapping[str, str]]]:
    file = config.file
    sections: dict[str, Sequence[Schedule | Rule | Route | Maintenance]] = {
        "schedules": file.schedules,
        "rules": file.rules,
        "routes": file.routes,
        "maintenance": file.maintenance,
    }
    for section, entries in sections.items():
        for index, entry in enumerate(entries):
            yield (section, index, "match"), entry.match


def _hints(
    path: KeyPath, matchers: Mapping[str, str], names: Collection[str], values: Mapping[str, Collection[str]]
) -> Iterator[tuple[KeyPath, str]]:
    for name, pattern in matchers.items():
        if name not in names:
            yield (*path, name), f"no endpoint has this label; {suggestion(name, names)}"
        elif name in values and not any(fits(pattern, slug) for slug in values[name]):
            yield (*path, name), f"there is no {name} '{pattern[:40]}'; {suggestion(pattern, values[name])}"
