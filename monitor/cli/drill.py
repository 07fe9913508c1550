"""`monitor drill`: does a drift reach the people it is for?"""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from monitor.cli.output import print_json, print_message
from monitor.cli.recorded import opened_store
from monitor.drill.channels import configured_channels
from monitor.drill.run import run_drill
from monitor.drill.step import Step, drill_document, exit_code_of
from monitor.redaction import redact_known, safe_text
from monitor.settings import load_settings


def drill(
    channel: Annotated[
        str | None, typer.Option(help="Only this channel; all that hear of firing alerts if left out.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Change a local endpoint's stack, and follow the drift to the channels. Exits 0 only if they took the notice.

    Without a configured channel, a receiver of the drill's own has to take it. Every notice says that it is a drill.
    """
    with opened_store() as store:
        channels = configured_channels(store, load_settings().config, channel)
    steps: list[Step] = []

    def tell(step: Step) -> None:
        steps.append(step)
        if not as_json:
            typer.echo(_line(step))

    with tempfile.TemporaryDirectory(prefix="monitor-drill-") as folder:
        run_drill(Path(folder), channels, tell)
    if as_json:
        print_json(drill_document(steps))
    elif exit_code_of(steps) == 0:
        print_message("The drift was found, confirmed, and told of.")
    raise typer.Exit(exit_code_of(steps))


def _line(step: Step) -> str:
    failed = "NOT " if step.exit_code else ""
    return safe_text(redact_known(f"{step.seconds:6.1f} s  {failed}{step.name:<10}  {step.told}"))
