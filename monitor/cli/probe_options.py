"""The options of `monitor probe` that `monitor suites run` has as well."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from monitor.verdict import FailOn

Provider = Annotated[str, typer.Option(help="The provider's slug in the configuration.")]
Model = Annotated[str | None, typer.Option(help="The model's slug; needed where the provider serves several.")]
Reps = Annotated[int, typer.Option(help="How often each item of a private suite is asked.")]
Resume = Annotated[
    bool, typer.Option("--resume", help="Go on with the private suite's last run, which was broken off within a day.")
]
MaxCost = Annotated[float | None, typer.Option(help="US dollars that may be spent; fewer requests fit it.")]
MaxRequests = Annotated[int | None, typer.Option(help="Requests that may be sent, every try counted.")]
MaxTokens = Annotated[int | None, typer.Option(help="Tokens of prompts and answers that may be used.")]
AnswerTokens = Annotated[
    int | None, typer.Option(help="Tokens that answers to tool-call cases may have; other numbers come of it.")
]
Timeout = Annotated[str | None, typer.Option(help="Stop sending after this time, such as 90s or 10m.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of the table.")]
JunitFile = Annotated[Path | None, typer.Option("--junit", help="Also write JUnit XML to this file.")]
MdFile = Annotated[Path | None, typer.Option("--md", help="Also write Markdown to this file.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show what would be sent, and send nothing.")]
Save = Annotated[bool, typer.Option("--save/--no-save", help="Keep the run; without, nothing is written.")]
Failing = Annotated[FailOn, typer.Option(help="What exit code 3 stands for.")]
