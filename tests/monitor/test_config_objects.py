"""The configuration as objects: taken apart, planned, and put together again."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from monitor.config import Config, load_config
from monitor.config.objects import (
    FileObject,
    Plan,
    StoredObject,
    config_from_objects,
    document_data,
    inspect_objects,
    objects_of,
    plan,
)
from monitor.errors import ConfigError
from monitor.store.vocabulary import ConfigKind, ManagedBy

AT = datetime(2026, 11, 29, tzinfo=UTC)

TEXT = """\
version: 1
defaults: { every: 1h }
models:
  smol: { reference: { tokenizer: smol.json } }
  bare:
providers:
  - slug: acme
    base_url: https://api.acme.ai/v1
    api_key: ${env:ACME}
    models: [ { model: smol, name: smol } ]
schedules:
  - { id: b, every: 5m }
  - { id: a, every: 6m }
"""


@pytest.fixture
def config(tmp_path: Path) -> Config:
    path = tmp_path / "providers.yaml"
    path.write_text(TEXT)
    return load_config(path)


def stored(entry: FileObject, **facts: Any) -> StoredObject:
    kept = StoredObject(
        kind=entry.kind,
        slug=entry.slug,
        body=entry.body,
        managed_by=ManagedBy.FILE,
        source=entry.source,
        position=entry.position,
        enabled=True,
        row_version=1,
        created_at=AT,
        updated_at=AT,
    )
    return replace(kept, **facts)


def of_api(kind: ConfigKind, slug: str, body: dict[str, Any]) -> StoredObject:
    return stored(FileObject(kind, slug, body, "", 0), managed_by=ManagedBy.API, source=None)


def test_objects_hold_what_the_file_says_and_where(config: Config, tmp_path: Path) -> None:
    found = {(entry.kind.value, entry.slug): entry for entry in objects_of(config)}

    assert list(found) == [
        ("defaults", "defaults"),
        ("model", "smol"),
        ("model", "bare"),
        ("provider", "acme"),
        ("schedule", "b"),
        ("schedule", "a"),
    ]
    acme = found["provider", "acme"]
    assert acme.source == f"{tmp_path}/providers.yaml:7"
    assert acme.body["api_key"] == "${env:ACME}"
    assert found["model", "bare"].body == {}
    assert found["schedule", "a"].position == 1


def test_put_together_they_are_the_same_configuration(config: Config) -> None:
    again = config_from_objects([stored(entry) for entry in reversed(objects_of(config))])

    assert again == config


def test_what_the_api_made_comes_after_what_the_file_says(config: Config) -> None:
    late = of_api(ConfigKind.SCHEDULE, "0", {"id": "0", "every": "1h"})

    again = config_from_objects([late, *map(stored, objects_of(config))])

    assert [schedule.id for schedule in again.file.schedules] == ["b", "a", "0"]


def test_what_is_disabled_does_not_count(config: Config) -> None:
    objects = [stored(entry, enabled=entry.slug != "a") for entry in objects_of(config)]

    assert [schedule.id for schedule in config_from_objects(objects).file.schedules] == ["b"]
    assert [schedule["id"] for schedule in document_data(objects)["schedules"]] == ["b"]


def test_no_objects_are_a_configuration_without_anything() -> None:
    config = config_from_objects([])

    assert config.all_endpoints() == []


def test_objects_are_checked_like_a_file(config: Config, tmp_path: Path) -> None:
    objects = [stored(entry) for entry in objects_of(config)]
    broken = of_api(ConfigKind.ROUTE, "r", {"id": "r", "to": ["nobody"]})
    gone = [replace(entry, enabled=entry.slug != "smol") for entry in objects]

    assert [problem.key for problem in inspect_objects([*objects, broken]).problems] == ["routes[0].to[0]"]
    with pytest.raises(ConfigError, match=f"{tmp_path}/providers.yaml:7: .*is not among the file's models"):
        config_from_objects(gone)


def test_a_plan_says_what_differs(config: Config) -> None:
    wanted = objects_of(config)
    by_slug = {entry.slug: entry for entry in wanted}
    extra = FileObject(ConfigKind.RULE, "old", {"id": "old"}, "f:1", 0)
    kept = [
        stored(by_slug["defaults"]),
        stored(by_slug["acme"], body={**by_slug["acme"].body, "name": "Acme", "limits": {}}),
        stored(by_slug["smol"], enabled=False),
        stored(by_slug["a"], managed_by=ManagedBy.API, source=None),
        stored(extra),
        of_api(ConfigKind.RULE, "mine", {"id": "mine"}),
    ]

    made = plan(wanted, kept)

    assert [str(change) for change in made.create] == ["model smol", "model bare", "schedule b"]
    assert [(str(change), change.keys) for change in made.update] == [
        ("provider acme", ("limits", "name")),
        ("schedule a", ()),
    ]
    assert [str(change) for change in made.disable] == ["rule old"]
    assert [entry.slug for entry in made.unchanged] == ["defaults"]


ENTRIES = st.lists(
    st.builds(
        FileObject,
        st.sampled_from([ConfigKind.RULE, ConfigKind.CHANNEL]),
        st.sampled_from("abc"),
        st.sampled_from([{}, {"n": 1}, {"n": 2}]),
        st.just("file:1"),
        st.just(0),
    ),
    unique_by=lambda entry: (entry.kind, entry.slug),
)
KEPT = ENTRIES.flatmap(
    lambda entries: st.tuples(
        *(
            st.builds(stored, st.just(entry), managed_by=st.sampled_from(ManagedBy), enabled=st.booleans())
            for entry in entries
        )
    )
)


def carried_out(made: Plan, kept: tuple[StoredObject, ...]) -> list[StoredObject]:
    objects = {(found.kind, found.slug): found for found in kept}
    for change in (*made.create, *made.update):
        objects[change.kind, change.slug] = stored(
            FileObject(change.kind, change.slug, change.after or {}, "file:1", 0)
        )
    for change in made.disable:
        objects[change.kind, change.slug] = replace(objects[change.kind, change.slug], enabled=False)
    return list(objects.values())


@given(wanted=ENTRIES, kept=KEPT)
def test_a_plan_that_is_carried_out_leaves_nothing_to_plan(
    wanted: list[FileObject], kept: tuple[StoredObject, ...]
) -> None:
    after = carried_out(plan(wanted, kept), kept)

    assert plan(wanted, after).changes == ()
    of_file = {(found.kind, found.slug): found.body for found in after if found.of_file}
    assert of_file == {(entry.kind, entry.slug): entry.body for entry in wanted}
    mine = [found for found in kept if found.managed_by is ManagedBy.API and (found.kind, found.slug) not in of_file]
    assert all(found in after for found in mine)
