"""`python -m reference_engine` is the command `reference-engine`."""

from __future__ import annotations

from reference_engine.cli import main

if __name__ == "__main__":
    main()
