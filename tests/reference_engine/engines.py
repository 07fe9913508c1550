"""Engines over tiny models."""

from __future__ import annotations

from datetime import UTC, datetime

from reference_engine.engine import Engine, open_engine
from reference_engine.options import EngineOptions
from tests.reference_engine.tiny_models import TinyModel

TODAY = datetime(2026, 1, 1, tzinfo=UTC)


def opened(model: TinyModel, options: EngineOptions) -> Engine:
    return open_engine(model.folder, profile="fp32", options=options, today=TODAY)
