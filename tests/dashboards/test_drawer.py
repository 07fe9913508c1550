"""Who draws is a process of its own: it goes when nobody looks, and neither its death nor a hang of it is ours."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import pytest

from dashboards.chart import Theme, Width
from dashboards.drawer import Drawer
from dashboards.drawing_process import draw
from monitor.errors import ServiceFailedError
from tests.dashboards.test_chart import chart, point

ROOT = Path(__file__).parents[2]
WANTED = (chart(point(2), point(1)), Theme.LIGHT, Width.NARROW)


@dataclass
class Deadly:
    """Whoever reads it ends."""

    code: int

    def __reduce__(self) -> tuple[Any, ...]:
        return os._exit, (self.code,)


def dies(drawer: Drawer, code: int) -> None:
    deadly: Any = Deadly(code)
    with pytest.raises(ServiceFailedError, match=f"ended with {code}"):
        drawer.drawn(deadly, Theme.LIGHT, Width.WIDE)


@pytest.fixture
def drawer() -> Iterator[Drawer]:
    with closing(Drawer()) as made:
        yield made


def test_one_process_draws_for_all_and_is_replaced_once_it_is_gone(drawer: Drawer) -> None:
    first, pid = drawer.drawn(*WANTED), drawer.pid
    with ThreadPoolExecutor(4) as pool:
        others = list(pool.map(lambda _: drawer.drawn(*WANTED), range(4)))
    assert first.startswith("<svg")
    assert set(others) == {first}
    assert drawer.pid == pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    # A new one is at work, and the end of the one before is nobody's trouble.
    dies(drawer, 5)


def test_it_ends_when_nobody_asks_or_who_asked_is_gone() -> None:
    ours, theirs = Pipe()
    with theirs:
        draw(theirs, 0.01)
        ours.close()
        with pytest.raises(EOFError):
            draw(theirs, 60.0)


def test_one_that_stands_still_is_given_up() -> None:
    with closing(Drawer(patience_s=0.0)) as drawer:
        with pytest.raises(ServiceFailedError, match="more than 0 s"):
            drawer.drawn(*WANTED)
        assert drawer.pid is None


def test_one_that_dies_over_a_picture_is_replaced_for_the_next(drawer: Drawer) -> None:
    dies(drawer, 3)
    dies(drawer, 4)


def test_the_application_ends_it_and_loads_nothing_of_what_draws(data_dir: Path) -> None:
    script = (
        "import pickle, sys\n"
        "from pathlib import Path\n"
        "from fastapi.testclient import TestClient\n"
        "from dashboards.app import app\n"
        "from dashboards.drawer import DRAWER, drawn\n"
        "with TestClient(app):\n"
        "    assert drawn(*pickle.load(sys.stdin.buffer)).startswith('<svg')\n"
        "    pid = DRAWER.pid\n"
        "assert not Path(f'/proc/{pid}').exists()\n"
        "assert not {'altair', 'vl_convert'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, input=pickle.dumps(WANTED), check=True)
