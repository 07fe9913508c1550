"""The configuration's objects in the database: applied, changed through the API, and never half."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from pathlib import Path
from threading import Barrier, Thread

import pytest
from sqlalchemy import select

from monitor.config import load_config
from monitor.config.objects import FileObject, objects_of
from monitor.errors import ConfigError, ConflictError, ManagedByFileError, NotFoundError, PreconditionFailedError
from monitor.store import Store
from monitor.store.config import ConfigObjects
from monitor.store.tables import AuditEntry, ChangeEvent, Spending
from monitor.store.vocabulary import ChangeKind, ConfigKind, ManagedBy
from tests.monitor.store.material import AT, finished_run, identity

LATER = AT + timedelta(hours=1)

TEXT = """\
version: 1
models: { llama: }
providers:
  - slug: acme
    base_url: https://api.acme.ai/v1
    models: [ { model: llama, name: m } ]
"""
CHANNEL = {"url": "https://hooks.example.com/x", "format": "slack"}
ROUTE = {"to": ["ops"]}


@pytest.fixture
def store(database_url: str) -> Iterator[Store]:
    with Store.open(database_url, at=AT) as opened:
        yield opened


@pytest.fixture
def objects(store: Store) -> ConfigObjects:
    return ConfigObjects(store.sessions)


def file_objects(folder: Path, text: str = TEXT) -> tuple[FileObject, ...]:
    path = folder / "providers.yaml"
    path.write_text(text)
    return objects_of(load_config(path))


def audited(store: Store) -> list[tuple[str, str, str]]:
    with store.sessions.read() as session:
        rows = session.scalars(select(AuditEntry).order_by(AuditEntry.id))
        return [(row.actor, row.action, row.object) for row in rows]


def test_what_is_applied_is_what_counts(objects: ConfigObjects, store: Store, tmp_path: Path) -> None:
    made = objects.apply(file_objects(tmp_path), actor="cli:me", at=AT)

    assert [str(change) for change in made.create] == ["model llama", "provider acme"]
    assert [endpoint.provider for endpoint in objects.config().all_endpoints()] == ["acme"]
    acme = objects.find(ConfigKind.PROVIDER, "acme")
    assert (acme.managed_by, acme.source, acme.row_version) == (ManagedBy.FILE, f"{tmp_path}/providers.yaml:4", 1)
    assert audited(store) == [("cli:me", "config.apply", f"{tmp_path}/providers.yaml")]


def test_the_order_of_the_file_is_kept(objects: ConfigObjects, tmp_path: Path) -> None:
    swapped = "schedules: [ { id: z, every: 5m }, { id: a, every: 6m } ]"
    objects.apply(file_objects(tmp_path, TEXT + swapped.replace("z", "m")), actor="me", at=AT)

    objects.apply(
        file_objects(tmp_path, TEXT + "schedules: [ { id: z, every: 5m }, { id: m, every: 5m } ]"), actor="me", at=LATER
    )

    assert [schedule.id for schedule in objects.config().file.schedules] == ["z", "m"]
    assert objects.find(ConfigKind.SCHEDULE, "m").row_version == 1


def test_applying_the_same_again_changes_and_notes_nothing(
    objects: ConfigObjects, store: Store, tmp_path: Path
) -> None:
    objects.apply(file_objects(tmp_path), actor="me", at=AT)

    made = objects.apply(file_objects(tmp_path, "# moved down\n" + TEXT), actor="me", at=LATER)

    assert made.changes == ()
    acme = objects.find(ConfigKind.PROVIDER, "acme")
    assert (acme.row_version, acme.updated_at, acme.source) == (1, AT, f"{tmp_path}/providers.yaml:5")
    assert len(audited(store)) == 1


def test_a_change_counts_up_and_is_noted_with_the_endpoint(
    objects: ConfigObjects, store: Store, tmp_path: Path
) -> None:
    endpoint = store.ensure_endpoint(identity(), at=AT)
    objects.apply(file_objects(tmp_path), actor="me", at=AT)

    objects.apply(file_objects(tmp_path, TEXT + "    limits: { rpm: 6 }\n"), actor="me", at=LATER)

    assert objects.find(ConfigKind.PROVIDER, "acme").row_version == 2
    with store.sessions.read() as session:
        noted = session.scalars(select(ChangeEvent).where(ChangeEvent.at == LATER)).one()
    assert (noted.endpoint_id, noted.kind) == (endpoint.id, ChangeKind.CONFIG)
    assert noted.text == "provider acme changed in the configuration: limits"


def test_what_leaves_the_file_is_disabled_and_may_come_back(objects: ConfigObjects, tmp_path: Path) -> None:
    objects.apply(file_objects(tmp_path), actor="me", at=AT)

    gone = objects.apply(file_objects(tmp_path, "version: 1\nmodels: { llama: }\n"), actor="me", at=LATER)
    assert [str(change) for change in gone.disable] == ["provider acme"]
    assert objects.config().all_endpoints() == []
    assert not objects.find(ConfigKind.PROVIDER, "acme").enabled

    objects.apply(file_objects(tmp_path), actor="me", at=LATER)
    acme = objects.find(ConfigKind.PROVIDER, "acme")
    assert (acme.enabled, acme.row_version, acme.created_at) == (True, 3, AT)


RENAMED = (
    TEXT.replace("llama", "kea")
    .replace("kea: ", "kea: { renamed_from: llama } ")
    .replace("slug: acme", "slug: bolt\n    renamed_from: acme")
)


def test_under_a_new_name_endpoints_go_on(objects: ConfigObjects, store: Store, tmp_path: Path) -> None:
    endpoint = store.ensure_endpoint(identity("acme", "llama"), at=AT)
    finished_run(store, endpoint.id)
    with store.sessions.write() as session:
        session.add(Spending(provider="acme", day=AT.date(), settled_microusd=500, reserved_microusd=0))
    objects.apply(file_objects(tmp_path), actor="me", at=AT)

    made = objects.apply(file_objects(tmp_path, RENAMED), actor="me", at=LATER)

    assert [(str(change), change.renamed_from) for change in made.changes] == [
        ("model kea", "llama"),
        ("provider bolt", "acme"),
    ]
    assert [(found.slug, found.enabled) for found in objects.all()] == [("kea", True), ("bolt", True)]
    assert store.ensure_endpoint(identity("bolt", "kea", served_name="llama"), at=LATER).id == endpoint.id
    assert [record.provider for record in store.endpoints()] == ["bolt"]
    assert len(store.history(provider="bolt")) == 1
    with store.sessions.read() as session:
        told = {event.text for event in session.scalars(select(ChangeEvent).where(ChangeEvent.at == LATER))}
        assert session.scalars(select(Spending.provider)).all() == ["bolt"]
    assert told == {"provider bolt was called acme until now", "model kea was called llama until now"}
    assert objects.apply(file_objects(tmp_path, RENAMED), actor="me", at=LATER).changes == ()


def test_two_histories_do_not_become_one(objects: ConfigObjects, store: Store, tmp_path: Path) -> None:
    for provider in ("acme", "bolt"):
        store.ensure_endpoint(identity(provider, "llama"), at=AT)
    objects.apply(file_objects(tmp_path), actor="me", at=AT)

    with pytest.raises(ConfigError, match="The provider 'bolt' has a history of its own"):
        objects.apply(file_objects(tmp_path, RENAMED), actor="me", at=LATER)

    assert [found.slug for found in objects.all()] == ["llama", "acme"]


def test_what_was_taken_out_may_come_back_under_another_name(objects: ConfigObjects, store: Store) -> None:
    endpoint = store.ensure_endpoint(identity("acme", "llama"), at=AT)
    old = objects.create(ConfigKind.MODEL, "llama", {}, actor="me", at=AT)
    objects.disable(ConfigKind.MODEL, "llama", row_version=old.row_version, actor="me", at=AT)

    objects.create(ConfigKind.MODEL, "kea", {"renamed_from": "llama"}, actor="me", at=LATER)

    assert [found.slug for found in objects.all()] == ["kea"]
    assert [(record.id, record.model) for record in store.endpoints()] == [(endpoint.id, "kea")]


def test_a_rehearsal_says_the_same_and_keeps_nothing(objects: ConfigObjects, store: Store, tmp_path: Path) -> None:
    rehearsed = objects.rehearse(file_objects(tmp_path), actor="me", at=AT)

    assert objects.all() == []
    assert audited(store) == []
    assert objects.apply(file_objects(tmp_path), actor="me", at=AT) == rehearsed


def test_objects_of_the_api_live_beside_those_of_the_file(objects: ConfigObjects, store: Store, tmp_path: Path) -> None:
    objects.apply(file_objects(tmp_path), actor="me", at=AT)

    made = objects.create(ConfigKind.CHANNEL, "ops", CHANNEL, actor="tok_1", at=AT)
    objects.create(ConfigKind.ROUTE, "all", ROUTE, actor="tok_1", at=AT)
    objects.apply(file_objects(tmp_path), actor="me", at=LATER)

    assert (made.managed_by, made.row_version, made.body) == (ManagedBy.API, 1, {**CHANNEL, "id": "ops"})
    assert [route.to for route in objects.config().file.routes] == [("ops",)]
    assert audited(store)[1:] == [
        ("tok_1", "config.create", "channel ops"),
        ("tok_1", "config.create", "route all"),
    ]


def test_an_object_of_the_file_is_changed_there_only(objects: ConfigObjects, tmp_path: Path) -> None:
    objects.apply(file_objects(tmp_path), actor="me", at=AT)
    body = dict(objects.find(ConfigKind.PROVIDER, "acme").body)
    place = rf"The provider 'acme' is managed by {tmp_path}/providers\.yaml:4\."

    with pytest.raises(ManagedByFileError, match=place) as caught:
        objects.create(ConfigKind.PROVIDER, "acme", body, actor="tok_1", at=AT)
    with pytest.raises(ManagedByFileError, match=place):
        objects.update(ConfigKind.PROVIDER, "acme", body, row_version=1, actor="tok_1", at=AT)
    with pytest.raises(ManagedByFileError, match=place):
        objects.disable(ConfigKind.PROVIDER, "acme", row_version=1, actor="tok_1", at=AT)

    assert (caught.value.code, caught.value.status) == ("managed_by_file", 409)


def test_the_file_takes_over_what_it_names(objects: ConfigObjects, tmp_path: Path) -> None:
    objects.create(ConfigKind.MODEL, "llama", {}, actor="tok_1", at=AT)

    made = objects.apply(file_objects(tmp_path), actor="me", at=LATER)

    assert [str(change) for change in made.update] == ["model llama"]
    assert objects.find(ConfigKind.MODEL, "llama").managed_by is ManagedBy.FILE


def test_there_is_one_object_of_a_name(objects: ConfigObjects) -> None:
    objects.create(ConfigKind.CHANNEL, "ops", CHANNEL, actor="tok_1", at=AT)

    with pytest.raises(ConflictError, match="There is a channel 'ops' already"):
        objects.create(ConfigKind.CHANNEL, "ops", CHANNEL, actor="tok_1", at=AT)


def test_a_change_of_an_older_version_is_refused(objects: ConfigObjects) -> None:
    objects.create(ConfigKind.CHANNEL, "ops", CHANNEL, actor="tok_1", at=AT)
    changed = objects.update(
        ConfigKind.CHANNEL, "ops", {**CHANNEL, "per_minute": 5}, row_version=1, actor="tok_1", at=LATER
    )

    with pytest.raises(PreconditionFailedError, match="at version 2, not 1"):
        objects.update(ConfigKind.CHANNEL, "ops", CHANNEL, row_version=1, actor="tok_1", at=LATER)

    assert (changed.row_version, changed.body["per_minute"]) == (2, 5)
    assert objects.find(ConfigKind.CHANNEL, "ops") == changed


def test_what_is_not_there_cannot_be_changed(objects: ConfigObjects) -> None:
    with pytest.raises(NotFoundError, match="There is no channel 'ops'"):
        objects.disable(ConfigKind.CHANNEL, "ops", row_version=1, actor="tok_1", at=AT)


def test_nothing_is_kept_of_a_change_that_would_not_be_valid(
    objects: ConfigObjects, store: Store, tmp_path: Path
) -> None:
    objects.create(ConfigKind.CHANNEL, "ops", CHANNEL, actor="tok_1", at=AT)
    objects.create(ConfigKind.ROUTE, "all", ROUTE, actor="tok_1", at=AT)
    before, noted = objects.all(), audited(store)

    with pytest.raises(ConfigError, match="is not among the channels"):
        objects.disable(ConfigKind.CHANNEL, "ops", row_version=1, actor="tok_1", at=AT)
    literal = {**CHANNEL, "secret": "whsec_literal"}  # pragma: allowlist secret
    with pytest.raises(ConfigError, match=r"must be \$\{env:NAME\}"):
        objects.create(ConfigKind.CHANNEL, "b", literal, actor="tok_1", at=AT)
    with pytest.raises(ConfigError, match="unknown key; did you mean 'url'"):
        objects.update(ConfigKind.CHANNEL, "ops", {"ulr": "x"}, row_version=1, actor="tok_1", at=AT)

    assert objects.all() == before
    assert audited(store) == noted


def test_a_file_that_does_not_go_with_the_apis_objects_changes_nothing(objects: ConfigObjects, tmp_path: Path) -> None:
    with_channel = TEXT + "channels: [ { id: ops, url: https://hooks.example.com/x, format: slack } ]\n"
    objects.apply(file_objects(tmp_path, with_channel), actor="me", at=AT)
    objects.create(ConfigKind.ROUTE, "all", ROUTE, actor="tok_1", at=AT)
    before = objects.all()

    with pytest.raises(ConfigError, match="is not among the channels"):
        objects.apply(file_objects(tmp_path), actor="me", at=LATER)

    assert objects.all() == before


def test_of_two_that_create_the_same_one_wins(objects: ConfigObjects) -> None:
    together = Barrier(2)
    refused: list[Exception] = []

    def create(actor: str) -> None:
        together.wait()
        try:
            objects.create(ConfigKind.CHANNEL, "ops", CHANNEL, actor=actor, at=AT)
        except ConflictError as error:
            refused.append(error)

    threads = [Thread(target=create, args=(name,)) for name in ("a", "b")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)

    assert len(refused) == 1
    assert len(objects.all()) == 1


def test_versions_differ_whenever_anything_that_is_read_does(objects: ConfigObjects, tmp_path: Path) -> None:
    schedules = "schedules: [ { id: a, every: 5m }, { id: b, every: 5m } ]\n"
    texts = (TEXT, TEXT + schedules, TEXT + schedules.replace("a,", "c,"), TEXT + "#\n" + schedules, TEXT)
    seen = []
    for text in texts:
        objects.apply(file_objects(tmp_path, text), actor="me", at=AT)
        seen.append((objects.versions(), objects.all()))
    objects.create(ConfigKind.CHANNEL, "ops", CHANNEL, actor="tok_1", at=AT)
    seen.append((objects.versions(), objects.all()))
    objects.update(ConfigKind.CHANNEL, "ops", {**CHANNEL, "per_minute": 5}, row_version=1, actor="tok_1", at=AT)
    seen.append((objects.versions(), objects.all()))

    for one, other in pairwise(seen):
        assert one[1] != other[1]
        assert one[0] != other[0]
    assert objects.versions() == seen[-1][0]
