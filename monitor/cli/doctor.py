"""`monitor doctor`: is everything there that the service needs?"""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any

import typer

from monitor import clock
from monitor.cli.output import print_json, print_message, print_table
from monitor.redaction import redact_known
from monitor.service.doctor import Finding, Standing, examine
from monitor.settings import load_settings

SCHEMA = "monitor.doctor/1"


def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False) -> None:
    """Look at disk, seed, database, broker, worker, configuration, keys and clocks. Changes nothing, shows no key."""
    found = examine(load_settings(), clock.now())
    if as_json:
        print_json({"schema": SCHEMA, "ok": not _code(found), "findings": [_item(finding) for finding in found]})
    else:
        print_table(("what", "", "finding"), [(f.name, f.standing.value, redact_known(f.text)) for f in found])
        for finding in found:
            if finding.remedy and finding.standing is not Standing.OK:
                print_message(f"{finding.name}: {redact_known(finding.remedy)}")
    raise typer.Exit(_code(found))


def _code(found: list[Finding]) -> int:
    """That of the first that failed."""
    return next((finding.exit_code for finding in found if finding.standing is Standing.FAILED), 0)


def _item(finding: Finding) -> dict[str, Any]:
    item = asdict(finding)
    del item["exit_code"]
    return item | {"text": redact_known(finding.text), "remedy": redact_known(finding.remedy)}
