from __future__ import annotations

import io
import re
import shutil
import sqlite3
from argparse import Namespace
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from alembic import command
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import Connection, NullPool, create_engine, inspect, text

import migrations
from monitor.drift.evidence import Combining, Evidence, ExactP, Null, StreamKey, Tier
from monitor.drift.rule import Verdict
from monitor.drift.score_stream import StreamRule
from monitor.errors import SchemaVersionError, UsageError
from monitor.store import Enrol, Queue, RunResult, RunStatus, Store, Trigger
from monitor.store.database import Database
from monitor.store.quantiles import Agg
from monitor.store.records import CheckRecord
from monitor.store.schema import CURRENT, exclusive, migration
from monitor.store.series import Series, Span, Step
from monitor.store.stream_records import EpochPlan
from monitor.store.streams import Streams
from monitor.store.tables import Table
from probes.plan import ProbeKind
from tests.monitor.store.material import AT, evidence, finished_run, identity, later, result, sample, start
from tests.servers import POSTGRESQL

MIGRATIONS = Path(str(migrations.__file__)).parent
REVISIONS = [script.revision for script in ScriptDirectory.from_config(CURRENT.alembic_config()).walk_revisions()]


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """One without any tables."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'monitor.db'}"
    return str(request.getfixturevalue("postgres_url"))


def migrate(path_or_url: Path | str, revision: str) -> None:
    database = Database.named(path_or_url)
    config = CURRENT.alembic_config()
    with exclusive(database), migration(database) as connection:
        config.attributes["connection"] = connection
        step = command.upgrade if revision == "head" else command.downgrade
        step(config, revision)


def connect(url: str) -> Connection:
    return create_engine(url, poolclass=NullPool).connect()


def row_counts(url: str) -> dict[str, int]:
    with connect(url) as connection:
        names = [name for name in inspect(connection).get_table_names() if name != "alembic_version"]
        return {name: connection.scalar(text(f"SELECT count(*) FROM {name}")) or 0 for name in names}


def definitions(path: Path) -> dict[str, list[str]]:
    """The SQL of every table and index, in parts, its columns and constraints in a set order."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {name: parts(re.sub(r"\s+", " ", sql)) for name, sql in found if name != "alembic_version"}


def parts(sql: str) -> list[str]:
    # A table that was made anew has its name in quotes, and its defaults in brackets.
    plain = sql.replace('"', "").replace("('')", "''")
    return sorted(part.strip(" ()") for part in re.split(r", (?=[A-Za-z_]+ )", plain))


def test_there_is_one_head_and_the_program_knows_it() -> None:
    scripts = ScriptDirectory.from_config(CURRENT.alembic_config())

    assert scripts.get_heads() == [CURRENT.revision]
    assert scripts.get_bases() == [REVISIONS[-1]]


def test_the_migrations_lead_to_the_tables_of_the_program(database_url: str) -> None:
    migrate(database_url, "head")

    with connect(database_url) as connection:
        context = MigrationContext.configure(connection, opts={"target_metadata": Table.metadata})
        assert compare_metadata(context, Table.metadata) == []


def test_they_lead_to_the_same_checks_and_keys_as_well(tmp_path: Path) -> None:
    """Alembic's comparison does not look at CHECKs and partial indexes."""
    migrated, made = tmp_path / "migrated.db", tmp_path / "made.db"
    migrate(migrated, "head")
    engine = create_engine(f"sqlite:///{made}")
    Table.metadata.create_all(engine)
    engine.dispose()

    assert definitions(migrated) == definitions(made)
    assert "WHERE status = 'active'" in str(definitions(migrated)["uq_baseline_active"])


def test_down_and_up_again_with_rows_in(tmp_path: Path) -> None:
    path = tmp_path / "monitor.db"
    with Store.open(path, at=AT) as store:
        endpoint = store.ensure_endpoint(identity(), at=AT)
        run_id = store.begin_run(start(endpoint.id), at=AT)
        store.add_samples(run_id, [sample("a")], at=AT)
        finished_run(store, endpoint.id)
    before = definitions(path)

    migrate(path, "base")
    assert definitions(path) == {}

    with Store.open(path, at=AT) as store:
        assert store.history() == []
    # A table that was changed in batch mode has its constraints in no order of its own.
    assert definitions(path) == before


def test_the_first_schema_with_rows_in_reaches_the_head_and_its_checks_enter_the_queue(database_url: str) -> None:
    with Store.open(database_url, at=AT) as store:
        endpoint = store.ensure_endpoint(identity(), at=AT)
        for probe in (ProbeKind.LOGPROBS, ProbeKind.ACCOUNTING):
            finished_run(store, endpoint.id, probe=probe, check_id="chk_1", outcome=result(baseline=Enrol()))
        failed = RunResult(RunStatus.FAILED, "provider_unreachable")
        finished_run(store, endpoint.id, later(5), check_id="chk_2", outcome=failed)
        run_id = store.begin_run(start(endpoint.id, check_id="chk_3"), at=AT)
        store.add_samples(run_id, [sample("a"), sample("b")], at=AT)
        history = store.history()
    migrate(database_url, "0001")
    before = row_counts(database_url)
    assert before["run"] == 4

    migrate(database_url, "head")

    after = row_counts(database_url)
    assert {name: after[name] for name in before} == before
    with Store.open(database_url, at=AT) as store:
        assert store.history() == [_without_new_counts(check) for check in history]
        entries = {check_id: Queue(store.sessions).entry(check_id) for check_id in ("chk_1", "chk_2", "chk_3")}
    assert after["endpoint_check"] == 3
    assert [(entry.status, entry.error_code) for entry in entries.values()] == [
        (RunStatus.SUCCEEDED, None),
        (RunStatus.FAILED, "provider_unreachable"),
        (RunStatus.RUNNING, None),
    ]
    first = entries["chk_1"]
    assert (first.endpoint_id, first.trigger, first.idempotency_key) == (endpoint.id, Trigger.CLI, "cli:chk_1")
    assert (first.slot_at, first.started_at, first.finished_at) == (AT, AT, later(0.5))


def _without_new_counts(check: CheckRecord) -> CheckRecord:
    """What a schema without the count of answers without usage brings back."""
    runs = tuple(replace(part, run=replace(part.run, n_without_usage=None)) for part in check.runs)
    return replace(check, runs=runs)


def test_tokens_that_an_endpoint_never_told_of_are_not_known_and_become_0_for_an_earlier_program(
    database_url: str,
) -> None:
    with Store.open(database_url, at=AT) as store:
        endpoint = store.ensure_endpoint(identity(), at=AT)
        silent = store.begin_run(start(endpoint.id), at=AT)
        store.add_samples(silent, [sample("a")], at=AT)
        store.finish_run(silent, RunResult(RunStatus.SUCCEEDED, tokens_in=None, tokens_out=None), at=AT)
        unasked = finished_run(store, endpoint.id, outcome=RunResult(RunStatus.FAILED, "provider_unreachable"))

    migrate(database_url, "0007")
    with connect(database_url) as connection:
        assert {*connection.execute(text("SELECT tokens_in, tokens_out FROM run"))} == {(0, 0)}
    migrate(database_url, "head")

    with Store.open(database_url, at=AT) as store:
        told = {part.run.id: (part.run.tokens_in, part.run.tokens_out) for one in store.history() for part in one.runs}
    assert told == {silent: (None, None), unasked: (0, 0)}


def test_the_points_of_earlier_runs_are_rolled_up_as_later_ones_are(database_url: str) -> None:
    span = Span(later(-10_000), later(10_000))
    with Store.open(database_url, at=AT) as store:
        endpoint = store.ensure_endpoint(identity(), at=AT)
        for minutes in (-800, -30, 0, 25, 90):
            finished_run(store, endpoint.id, later(minutes))
        before = [Series(store.sessions).series(endpoint.id, "logprobs.shift", span, step) for step in Step]

    migrate(database_url, "0001")
    migrate(database_url, "head")

    with Store.open(database_url, at=AT) as store:
        after = [Series(store.sessions).series(endpoint.id, "logprobs.shift", span, step) for step in Step]
    assert [len(found.points) for found in before] == [5, 5, 4, 2]
    assert after == before


def test_rollups_get_the_values_of_their_points_unless_some_are_gone(database_url: str) -> None:
    span = Span(later(-10_000), later(10_000))
    with Store.open(database_url, at=AT) as store:
        endpoint = store.ensure_endpoint(identity(), at=AT)
        for minutes in (-800, -30, 0, 25, 90):
            finished_run(store, endpoint.id, later(minutes))
        before = [Series(store.sessions).series(endpoint.id, "logprobs.shift", span, step, Agg.P95) for step in Step]
    migrate(database_url, "0002")
    with connect(database_url) as connection, connection.begin():
        connection.execute(text("DELETE FROM metric_point WHERE id = (SELECT min(id) FROM metric_point)"))

    migrate(database_url, "head")

    with Store.open(database_url, at=AT) as store:
        after = [Series(store.sessions).series(endpoint.id, "logprobs.shift", span, step, Agg.P95) for step in Step]
    assert [len(found.points) for found in before] == [5, 5, 4, 2]
    assert [found.points for found in after[2:]] == [before[2].points[1:], before[3].points[1:]]


@POSTGRESQL
def test_an_older_schema_on_a_server_is_left_to_its_operator(database_url: str) -> None:
    migrate(database_url, "head")
    migrate(database_url, "0001")

    with pytest.raises(SchemaVersionError, match=f"has schema 0001; this program needs schema {CURRENT.revision}"):
        Store.open(database_url, at=AT)


def offline_sql(url: str) -> str:
    output = io.StringIO()
    config = Config(output_buffer=output, cmd_opts=Namespace(x=[f"database={url}"]))
    config.set_main_option("script_location", CURRENT.scripts)
    command.upgrade(config, "head", sql=True)
    return output.getvalue()


def test_the_same_migrations_are_written_for_postgresql() -> None:
    sql = offline_sql("postgresql://localhost/monitor")

    assert sql.count("CREATE TABLE") == len(Table.metadata.tables) + 1
    assert "id BIGSERIAL NOT NULL" in sql
    assert "started_at TIMESTAMP WITH TIME ZONE NOT NULL" in sql
    assert "CREATE UNIQUE INDEX uq_baseline_active ON baseline (endpoint_id, probe) WHERE status = 'active'" in sql


def test_a_generated_migration_does_not_lean_on_the_program(tmp_path: Path) -> None:
    """It must say the same for ever, whatever becomes of the program's column types."""
    scripts = tmp_path / "scripts"
    (scripts / "versions").mkdir(parents=True)
    for name in ("env.py", "script.py.mako"):
        shutil.copy(MIGRATIONS / name, scripts)
    config = Config(cmd_opts=Namespace(x=[f"database={tmp_path / 'monitor.db'}"]))
    config.set_main_option("script_location", str(scripts))

    command.revision(config, "All tables", autogenerate=True, rev_id="0001")

    written = (scripts / "versions" / "0001_all_tables.py").read_text()
    assert "monitor" not in written
    assert "sa.Column('capabilities', sa.JSON(), nullable=False)" in written
    assert "sa.Column('adjusted_p', sa.Double(), nullable=True)" in written
    assert "sa.Column('finished_at', sa.DateTime(timezone=True), nullable=True)" in written


def test_the_command_line_needs_a_database() -> None:
    with pytest.raises(UsageError, match="No database is named"):
        command.upgrade(Config(Path(__file__).parents[2] / "alembic.ini"), "head")


def test_the_command_line_upgrades_the_database_it_names(database_url: str) -> None:
    config = Config(Path(__file__).parents[2] / "alembic.ini", cmd_opts=Namespace(x=[f"database={database_url}"]))

    command.upgrade(config, "head")
    command.check(config)

    with connect(database_url) as connection:
        assert connection.execute(text("SELECT version_num FROM alembic_version")).all() == [(CURRENT.revision,)]


def test_suites_have_one_baseline_together_in_the_schema_before_and_each_its_own_afterwards(database_url: str) -> None:
    with Store.open(database_url, at=AT) as store:
        endpoint = store.ensure_endpoint(identity(), at=AT)
        for number, version in enumerate(("words/1", "sums/1", "sums/2")):
            store.reset_baseline(endpoint.id, suite="sums", note="again", at=later(number))
            begun = replace(start(endpoint.id, ProbeKind.EVALS), suite_version=version)
            run_id = store.begin_run(begun, at=later(number))
            store.finish_run(run_id, result(baseline=Enrol()), at=later(number))
    migrate(database_url, "0004")
    with connect(database_url) as connection:
        rows = connection.execute(text("SELECT status, version FROM baseline ORDER BY id")).all()
    migrate(database_url, "head")

    with Store.open(database_url, at=AT) as store:
        suites = [(one.suite, one.version) for one in store.baselines(endpoint.id)]
    assert rows == [("closed", 1), ("closed", 2), ("active", 3)]
    assert suites == [("sums", 2), ("sums", 3), ("words", 1)]


def test_what_stands_of_earlier_runs_is_what_would_stand_had_it_been_kept(database_url: str) -> None:
    with Store.open(database_url, at=AT) as store:
        endpoint = store.ensure_endpoint(identity(), at=AT)
        for minutes, metric, verdict in _TOLD:
            found = replace(result(baseline=Enrol()), evidence=[evidence(metric, verdict)])
            finished_run(store, endpoint.id, later(minutes), outcome=found)
            if verdict is Verdict.DRIFT:
                store.reset_baseline(endpoint.id, note="anew", at=later(minutes + 1))
        before = standing_rows(database_url)
    migrate(database_url, "0007")
    migrate(database_url, "head")

    assert len(before) == 4
    assert standing_rows(database_url) == before


_TOLD = [
    (-4, "fidelity", Verdict.SUSPECT),
    (-2, "fidelity.trigger", Verdict.OK),
    (0, "logprobs", Verdict.DRIFT),
    (2, "logprobs", Verdict.INAPPLICABLE),
    (4, "logprobs", Verdict.INCONCLUSIVE),
    (6, "logprobs", Verdict.INCONCLUSIVE),
    (8, "accounting", Verdict.OK),
    (10, "accounting", Verdict.SUSPECT),
    (12, "accounting", Verdict.SUSPECT),
    (14, "accounting", Verdict.INCONCLUSIVE),
    (16, "fidelity", Verdict.INCONCLUSIVE),
]


def standing_rows(url: str) -> list[tuple[object, ...]]:
    with connect(url) as connection:
        rows = connection.execute(text("SELECT * FROM standing_evidence ORDER BY endpoint_id, suite, metric"))
        return [tuple(row) for row in rows]


def test_streams_come_with_0010_and_go_without_it_and_leave_runs_as_they_are(database_url: str) -> None:
    with Store.open(database_url, at=AT) as store:
        endpoint = store.ensure_endpoint(identity(), at=AT)
        watched, asked = (StreamKey(endpoint.id, Tier.SAMPLING, name) for name in ("draws-1", "draws-2"))
        streams = Streams(store.sessions)
        streams.open(endpoint.id, EpochPlan("stack-1", {watched: StreamRule()}, {asked: StreamRule()}), at=AT)
        for minutes in range(4):
            run_id = finished_run(store, endpoint.id, later(minutes))
            says = ExactP(3e-3, Null.REFERENCE, Combining.MULTIPLY)
            evidence = Evidence(watched, later(minutes).timestamp(), says)
            streams.add(run_id, [evidence], stack="stack-1", at=later(minutes))
        assert streams.states(endpoint.id).escalation.streams
        history = store.history()
    before = row_counts(database_url)
    counts = (2, 1, 2, 2, 4, 4, 0)
    assert {name: before[name] for name in _STREAM_TABLES} == dict(zip(_STREAM_TABLES, counts, strict=True))

    migrate(database_url, "0009")
    without = row_counts(database_url)
    migrate(database_url, "head")

    assert without == {name: count for name, count in before.items() if name not in _STREAM_TABLES}
    assert row_counts(database_url) == {**before, **dict.fromkeys(_STREAM_TABLES, 0)}
    with Store.open(database_url, at=AT) as store:
        assert store.history() == history
        opened = Streams(store.sessions).open(endpoint.id, EpochPlan("stack-1", {watched: StreamRule()}), at=AT)
    assert opened.epoch.number == 0


_STREAM_TABLES = (
    "stream", "endpoint_epoch", "stream_epoch", "stream_state", "stream_evidence", "endpoint_look", "enrolment",
)  # fmt: skip


def test_a_settled_epoch_is_an_accepted_one_to_a_program_before_0014(database_url: str) -> None:
    with Store.open(database_url, at=AT) as store:
        endpoint = store.ensure_endpoint(identity(), at=AT)
        streams, watched = Streams(store.sessions), StreamKey(endpoint.id, Tier.SAMPLING, "draws-1")
        streams.open(endpoint.id, EpochPlan("stack-1", {watched: StreamRule()}), at=AT)
        streams.expire(endpoint.id, at=later(1))
    with connect(database_url) as connection, connection.begin():
        connection.execute(text("UPDATE endpoint_epoch SET why = 'settled' WHERE number = 0"))
    before = row_counts(database_url)

    migrate(database_url, "0013")
    with connect(database_url) as connection:
        kept = {*connection.execute(text("SELECT number, why FROM endpoint_epoch"))}
    migrate(database_url, "head")

    assert kept == {(0, "accepted"), (1, None)}
    assert row_counts(database_url) == before
    with Store.open(database_url, at=AT) as store:
        assert [one.why for one in Streams(store.sessions).epochs(endpoint.id)] == ["accepted", None]
