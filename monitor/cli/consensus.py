"""`monitor drift consensus`: a model's endpoints beside each other, by the latest answers that are stored of them."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated

import typer

from monitor import clock
from monitor.cli.output import print_json, print_table, stdout_console
from monitor.cli.recorded import configured_models, opened_store
from monitor.config import suggestion
from monitor.config.times import parse_long_duration
from monitor.consensus import ConsensusDocument, ConsensusFinding
from monitor.errors import UsageError
from monitor.redaction import safe_text
from monitor.render.consensus import COLUMNS, notes, rows, sentence
from monitor.store import Store
from monitor.store.anchors import Anchors, AskedModel

EXIT_INAPPLICABLE = 4


def consensus(
    model: Annotated[str, typer.Option(help="The model's slug.")],
    within: Annotated[str, typer.Option(help="How far back the latest runs may lie: 90m, 24h, 7d.")] = "24h",
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Show which of a model's endpoints differs from the others, without a reference. Sends nothing."""
    span = _span(within)
    with opened_store() as store:
        _check_model(store, model)
        found = _compared(store, model, span)
    if as_json:
        print_json(found.model_dump(mode="json", by_alias=True))
    else:
        _print(found)
    if found.finding is ConsensusFinding.INAPPLICABLE:
        raise typer.Exit(EXIT_INAPPLICABLE)


def _span(within: str) -> timedelta:
    try:
        return timedelta(seconds=parse_long_duration(within))
    except ValueError as error:
        raise UsageError(f"--within {within!r} is not a time.", remedy="Give a time such as 90m, 24h or 7d.") from error


def _check_model(store: Store | None, model: str) -> None:
    """Raises UsageError for a model that is neither in the database nor in the configuration, which is read only where
    it decides."""
    recorded = {each.model for each in store.endpoints()} if store is not None else set()
    if model in recorded:
        return
    known = sorted(recorded | configured_models())
    if model not in known:
        raise UsageError(
            f"No model '{model}' is configured or was ever asked; {suggestion(model, known)}",
            remedy="`monitor providers list` shows those that are configured.",
        )


def _compared(store: Store | None, model: str, span: timedelta) -> ConsensusDocument:
    from monitor.check.consensus import compared

    now = clock.now()
    since = now - span
    if store is None:
        return compared(AskedModel(model, since, now, ()), {})
    anchors = Anchors(store.sessions)
    asked = anchors.asked(model, since, now)
    return compared(asked, anchors.of(asked.run_ids))


def _print(found: ConsensusDocument) -> None:
    console = stdout_console()
    console.print(safe_text(f"{found.model}: {sentence(found)}"), soft_wrap=True)
    if found.endpoints:
        print_table(COLUMNS, rows(found))
    for line in notes(found):
        console.print(safe_text(line), soft_wrap=True)
