"""Builds a model's tokenizer from its files: GGUF metadata, a folder as transformers saves it, or a tokenizer.json."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

from reference_engine.chat import PINNED_DATE
from reference_engine.tokenizer import ModelTokenizer
from reference_engine.vocabulary.folder import tokenizer_from_folder
from reference_engine.vocabulary.gguf import tokenizer_from_gguf
from reference_engine.weights.gguf import open_gguf

__all__ = ["read_tokenizer", "tokenizer_from_folder", "tokenizer_from_gguf"]


def read_tokenizer(path: Path, today: datetime = PINNED_DATE) -> ModelTokenizer:
    """From a GGUF file, a model folder, or a tokenizer.json and its neighbours.

    Raises ModelNotFoundError or ModelFileError.
    """
    if path.is_dir():
        return tokenizer_from_folder(path, today)
    if path.suffix == ".json":
        return tokenizer_from_folder(path.parent, today, tokenizer_file=path)
    return tokenizer_from_gguf(open_gguf(path), today)
