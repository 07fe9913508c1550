"""A check in its caller's own process."""

from __future__ import annotations

from pathlib import Path

import yaml
from sqlalchemy import select

from monitor import clock
from monitor.check.options import CheckOptions, Silent
from monitor.check.run import run_check
from monitor.config import load_config
from monitor.datadir import DataDir
from monitor.store import Store
from monitor.store.tables import Spending
from probes.plan import ProbeKind
from tests.endpoints.scripted_model import ScriptedModel
from tests.endpoints.server import ScriptedServer

PRICES = {"input_usd_per_mtok": 1000.0, "output_usd_per_mtok": 1000.0}


def test_what_a_check_by_hand_cost_counts_to_its_providers_day(tmp_path: Path) -> None:
    file, data = tmp_path / "providers.yaml", DataDir(tmp_path / "data")
    with ScriptedServer(ScriptedModel()) as server:
        served = {"model": "lark", "name": "acme/lark-30b", "prices": PRICES}
        provider = {"slug": "x", "base_url": server.base_url, "allow_private": True, "models": [served]}
        file.write_text(yaml.safe_dump({"version": 1, "models": {"lark": {}}, "providers": [provider]}))
        (endpoint,) = load_config(file).endpoints("x")

        documents = [
            run_check(endpoint, CheckOptions(probes=(ProbeKind.ACCOUNTING,), n=4), data, Silent()) for _ in range(2)
        ]

    with Store.open(data.database, at=clock.now()) as store, store.sessions.read() as session:
        spending = session.scalars(select(Spending)).one()
    assert (spending.provider, spending.reserved_microusd) == ("x", 0)
    assert spending.settled_microusd == round(sum(document.cost.usd or 0.0 for document in documents) * 1e6) > 0
