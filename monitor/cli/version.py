"""`monitor version`: what is installed, for bug reports and scripts."""

from __future__ import annotations

import platform
from typing import Annotated

import typer

from monitor.cli.output import print_json

SCHEMA = "monitor.version/1"
DISTRIBUTION = "endpoint-monitor"

# The libraries whose version can change a number or a stored row.
LIBRARIES = ("torch", "numpy", "scipy", "tokenizers", "sqlalchemy", "httpx")


def package_version() -> str:
    return _version_of(DISTRIBUTION) or "0+uninstalled"


def version_line() -> str:
    return f"{DISTRIBUTION} {package_version()}"


def version(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False) -> None:
    """Show the version and what it runs on."""
    libraries = {name: _version_of(name) for name in LIBRARIES}
    if as_json:
        print_json(
            {
                "schema": SCHEMA,
                "version": package_version(),
                "python": platform.python_version(),
                "platform": platform.platform(),
                "libraries": libraries,
            }
        )
        return
    typer.echo(version_line())
    typer.echo(f"Python {platform.python_version()} on {platform.platform()}")
    typer.echo(", ".join(f"{name} {found or 'missing'}" for name, found in libraries.items()))


def _version_of(distribution: str) -> str | None:
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed(distribution)
    except PackageNotFoundError:
        return None
