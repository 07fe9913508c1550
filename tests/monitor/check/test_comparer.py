"""Comparing in a process of its own: the same document, kept for the same runs, and errors that stay errors."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from monitor.check.comparer import Comparer
from monitor.check.consensus import compared
from monitor.consensus import ConsensusDocument, ConsensusFinding
from monitor.errors import ServiceFailedError, StorageError
from monitor.store import Store
from monitor.store.anchors import Anchors
from monitor.store.tables import Observation
from tests.monitor.store.beside import ONE_OF_FIVE, answered, fleet, hosted, world
from tests.monitor.store.material import AT, later

ROOT = Path(__file__).parents[3]
SINCE = AT - timedelta(days=1)


@pytest.fixture
def store(migrated_sqlite: str) -> Iterator[Store]:
    with Store.open(migrated_sqlite, at=AT) as opened:
        yield opened


@pytest.fixture
def anchors(store: Store) -> Anchors:
    fleet(store, ONE_OF_FIVE, AT)
    return Anchors(store.sessions)


def ask(comparer: Comparer, anchors: Anchors, minutes: int = 0) -> ConsensusDocument:
    return comparer.compared(anchors, "smol", SINCE, later(minutes))


def damage(store: Store) -> None:
    with store.sessions.write() as session:
        session.execute(update(Observation).values(blob=b"OBS\x01 no frame"))


def test_the_document_is_the_one_that_this_process_would_make(anchors: Anchors) -> None:
    asked = anchors.asked("smol", SINCE, AT)
    assert ask(Comparer(), anchors) == compared(asked, anchors.of(asked.run_ids))


def test_the_same_runs_are_compared_once_and_a_new_one_makes_them_others(store: Store, anchors: Anchors) -> None:
    comparer = Comparer()
    first = ask(comparer, anchors)
    damage(store)

    again = ask(comparer, anchors, minutes=5)

    assert again == first.model_copy(update={"until": later(5)})
    (good,) = world([()])
    answered(store, hosted(store, 0, AT), good, later(6))
    with pytest.raises(StorageError, match="damaged"):
        ask(comparer, anchors, minutes=10)


def test_a_process_that_takes_too_long_is_ended_and_said(anchors: Anchors) -> None:
    with pytest.raises(ServiceFailedError, match=r"not compared: it took more than 0\.001 s"):
        ask(Comparer(patience_s=0.001), anchors)


def test_a_model_that_nobody_was_asked_for_is_inapplicable(store: Store) -> None:
    found = ask(Comparer(), Anchors(store.sessions))
    assert (found.finding, found.endpoints) == (ConsensusFinding.INAPPLICABLE, ())


def test_the_process_that_asks_holds_no_statistics(migrated_sqlite: str, anchors: Anchors) -> None:
    script = (
        "import sys\n"
        "from datetime import datetime, timedelta\n"
        "from monitor.check.comparer import COMPARER\n"
        "from monitor.store import Store\n"
        "from monitor.store.anchors import Anchors\n"
        "at = datetime.fromisoformat(sys.argv[2])\n"
        "with Store.open(sys.argv[1], at=at) as store:\n"
        "    found = COMPARER.compared(Anchors(store.sessions), 'smol', at - timedelta(days=1), at)\n"
        "print(found.finding.value, sorted({'numpy', 'scipy'} & set(sys.modules)))\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script, migrated_sqlite, AT.isoformat()],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout == "differs []\n"
