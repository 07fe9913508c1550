"""`monitor probe` on a database server: the file in the data directory is not used, and the seed is one for all."""

from __future__ import annotations

from tests.endpoints.scripted_model import NOISE, ScriptedModel
from tests.endpoints.server import ScriptedServer
from tests.installation import QUICK, Installation


def test_a_probe_enrols_and_judges_in_the_server_that_is_named(installation: Installation, postgres_url: str) -> None:
    with ScriptedServer(ScriptedModel(noise=NOISE)) as server:
        installation.configure(server.base_url)
        first, second, unsaved = (
            installation.probe("--json", *words, *QUICK, MONITOR_DATABASE_URL=postgres_url)
            for words in ((), (), ("--no-save",))
        )

    assert [ran.code for ran in (first, second, unsaved)] == [0, 0, 0], second.err
    assert [ran.document["enrolled"] for ran in (first, second, unsaved)] == [True, False, False]
    assert [ran.document["verdict"] for ran in (second, unsaved)] == ["ok", "ok"]
    assert not installation.database.exists()
    history = installation.run("history", "--provider", "x", "--json", MONITOR_DATABASE_URL=postgres_url)
    assert len(history.document["items"]) == 2


def test_another_seed_is_refused_where_a_database_is_shared(installation: Installation, postgres_url: str) -> None:
    with ScriptedServer(ScriptedModel(noise=NOISE)) as server:
        installation.configure(server.base_url)
        installation.probe("--json", *QUICK, MONITOR_DATABASE_URL=postgres_url)
        (installation.data / "seed").unlink()
        refused = installation.probe("--json", *QUICK, MONITOR_DATABASE_URL=postgres_url)

    assert refused.code == 6
    assert "seed" in refused.document["error"]["message"]
