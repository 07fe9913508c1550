"""A worker keeps its references open, and opens one again whose files are others by now."""

from __future__ import annotations

from pathlib import Path

import pytest

from monitor.config import ReferenceConfig
from monitor.worker.references import References
from reference_engine import EngineError
from reference_engine.server.socket_file import bind_socket_file
from tests.reference_engine.pool_server import running_pool
from tests.reference_engine.tiny_models import write_tiny_model


def test_a_service_s_reference_is_opened_again_once_its_files_are_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = write_tiny_model(tmp_path / "model", "llama").folder
    monkeypatch.setenv("MONITOR_REFERENCE_URL", f"unix:{tmp_path / 'pool.sock'}")
    config, references = ReferenceConfig(folder, None, ("fp32",)), References()
    with running_pool(bind_socket_file(tmp_path / "pool.sock")):
        first, again = references.of(config), references.of(config)
        settings = folder / "tokenizer_config.json"
        settings.write_text(settings.read_text().replace("assistant", "helper"))
        changed = references.of(config)
        assert first.engine is not None
        with pytest.raises(EngineError, match="model has changed"):
            first.engine.next_tokens([[0]])

    assert again.engine is first.engine
    assert changed.engine is not first.engine
    assert changed.identity != first.identity
    references.close()
