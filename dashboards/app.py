"""The application that `monitor web` serves; what the environment names is opened when the server starts."""

from __future__ import annotations

import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool

from dashboards.drawer import DRAWER
from dashboards.site import create_site
from monitor.service.web import broker_url_of, open_state
from monitor.settings import load_settings


def set_aside() -> None:
    """Leave what lasts as long as the process out of later collections: a page of a thousand endpoints meets several,
    and each would look through every module and schema for 90 ms."""
    gc.collect()
    gc.freeze()


@asynccontextmanager
async def _opened(application: Starlette) -> AsyncIterator[None]:
    settings = load_settings()
    state = await run_in_threadpool(open_state, settings)
    application.mount("", create_site(state, broker_url_of(settings)))
    set_aside()
    try:
        yield
    finally:
        DRAWER.close()
        state.store.close()


app = Starlette(lifespan=_opened)
