"""`monitor suites calibrate`: find out which ambiguous tool-call prompts a reference is really in doubt about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import typer

from monitor.check.calibrate import calibrate
from monitor.check.calibrated import Shelf, Shelved, Subject
from monitor.check.reference import open_reference
from monitor.check.reference_side import Conversing, converses
from monitor.check.seed import agree_on_seed
from monitor.cli.asked_endpoint import one_endpoint
from monitor.cli.output import print_json
from monitor.cli.progress import progress_bar
from monitor.cli.recorded import created_store
from monitor.config import EndpointConfig, load_config
from monitor.errors import UsageError
from monitor.settings import load_settings
from probes.tools.calibration import FEWEST, enough
from probes.tools.calibration_record import RUNS

SCHEMA = "monitor.calibration/1"
EXIT_UNFINISHED = 4


@dataclass(frozen=True, slots=True)
class Calibrating:
    """The calibration of an endpoint's reference, which is open."""

    endpoint: EndpointConfig
    engine: Conversing
    subject: Subject
    shelf: Shelf

    def go_on(self, within_s: float | None) -> Shelved:
        with progress_bar() as progress:
            return calibrate(self.engine, self.subject, self.shelf, progress, within_s=within_s)

    def report(self, shelved: Shelved, *, as_json: bool) -> None:
        document = _document(self.endpoint, self.subject, shelved)
        if as_json:
            print_json(document)
        else:
            typer.echo(_told(document))


@contextmanager
def calibrating(provider: str, model: str | None) -> Iterator[Calibrating]:
    """Raises UsageError where there is no reference that could be in doubt."""
    settings = load_settings()
    endpoint = one_endpoint(load_config(settings.config).endpoints(provider, model), provider)
    with open_reference(endpoint.reference) as reference, created_store() as store:
        seed = settings.data.seed()
        if settings.data.database_url is not None:
            agree_on_seed(store, seed)
        engine, subject = reference.engine, Subject.of(reference, seed)
        if subject is None or not converses(engine):
            raise UsageError(
                f"The model {endpoint.model} has no reference with weights, which alone could be asked.",
                remedy="Give its entry `reference: {weights: …}`.",
            )
        yield Calibrating(endpoint, engine, subject, Shelf(store.sessions, subject))


def _document(endpoint: EndpointConfig, subject: Subject, shelved: Shelved) -> dict[str, Any]:
    """`settled` and `of` are the prompts of the run at hand, the last where all is answered."""
    record, cases, finished_at = shelved.record, subject.cases, shelved.finished_at
    run = record.run_at_hand(cases)
    at_hand = len(RUNS) - 1 if run is None else run
    settled, of = record.settled(at_hand, cases)
    made = None if finished_at is None else record.calibration(cases)
    return {
        "schema": SCHEMA,
        "provider": endpoint.provider,
        "model": endpoint.model,
        "profile": subject.profile,
        "finished_at": None if finished_at is None else finished_at.isoformat(),
        "run": at_hand + 1,
        "settled": settled,
        "of": of,
        "candidates": len(cases),
        "in_doubt": record.in_doubt(),
        "kept": None if made is None else len(made.kept),
        "usable": None if made is None else enough(len(made.kept)),
        "dropped": None if made is None else Counter(why.value for why in made.dropped.values()),
    }


def _told(document: dict[str, Any]) -> str:
    if document["finished_at"] is None:
        return (
            f"Run {document['run']} of {len(RUNS)}: {document['settled']} of {document['of']} prompts are settled, "
            f"{document['in_doubt']} in doubt. The same command goes on."
        )
    dropped = ", ".join(f"{why} {count}" for why, count in sorted(document["dropped"].items()))
    kept = f"{document['kept']} of {document['candidates']} prompts are kept"
    told = f"{kept}; dropped: {dropped}." if dropped else f"{kept}."
    return told if document["usable"] else f"{told} T3 needs {FEWEST}: checks do without it."
