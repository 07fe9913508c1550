"""`monitor plan`: what has to be asked of an endpoint, how often and for how much, to see a change within some time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from monitor import clock
from monitor.cli.asked_endpoint import one_endpoint
from monitor.cli.output import print_json, print_table, stdout_console
from monitor.cli.recorded import opened_store
from monitor.config import EndpointConfig, load_config, suggestion
from monitor.config.times import parse_long_duration
from monitor.errors import UsageError
from monitor.settings import load_settings

if TYPE_CHECKING:
    from monitor.check.enrolled import Enrolled
    from monitor.config import Config
    from monitor.drift.offers import Wanted
    from monitor.drift.targets import Target
    from monitor.render.plan import PlanDocument

HOUR = 3600.0


def plan(
    provider: Annotated[str, typer.Option(help="The provider's slug.")],
    detect: Annotated[
        list[str],
        typer.Option(
            metavar="CHANGE",
            help="int8, fp8, nf4, int4 or another profile; swap, swap=30%, template, temperature=0.9, schema=95%, "
            "0.05nat. May be given several times.",
        ),
    ],
    within: Annotated[str, typer.Option(help="How long it may go unseen: 90m, 6h, 14d.")],
    model: Annotated[str | None, typer.Option(help="The model's slug, where the provider serves several.")] = None,
    alpha: Annotated[float, typer.Option(help="Chance of a false alarm in 30 days, 1e-6 to 0.1.")] = 0.001,
    power: Annotated[float, typer.Option(help="In what part of the cases it is seen in time, 0.5 to 0.99.")] = 0.9,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Plan by power: which probes at which rate see a change within some time, and what they cost. Sends nothing."""
    config = load_config(load_settings().config)
    endpoint = one_endpoint(config.endpoints(provider, model), provider)
    wanted = _wanted(within, alpha, power, config)
    with opened_store() as store:
        from monitor.check.enrolled import enrolled

        known = enrolled(store, endpoint)
    document = _planned(endpoint, config, [_target(text, known) for text in dict.fromkeys(detect)], wanted, known)
    if as_json:
        print_json(document.to_json())
        return
    console = stdout_console()
    for line in document.verdict:
        console.print(line, soft_wrap=True)
    console.print()
    print_table(*document.table)
    for line in (*document.remarks, "", *document.notes):
        console.print(line, soft_wrap=True)
    if document.yaml:
        console.print()
        console.out(document.yaml, end="")


def _wanted(within: str, alpha: float, power: float, config: Config) -> Wanted:
    from monitor.drift.offers import Wanted

    try:
        hours = parse_long_duration(within) / HOUR
    except ValueError as error:
        raise UsageError(f"--within {within!r} is not a time.", remedy="Give a time such as 90m, 6h or 14d.") from error
    try:
        return Wanted(hours, alpha, power, config.file.defaults.jitter)
    except ValueError as error:
        raise UsageError(
            f"{error}.", remedy="--within is 30d at most, --alpha 1e-6 to 0.1, --power 0.5 to 0.99."
        ) from error


def _target(text: str, known: Enrolled) -> Target:
    from monitor.drift.targets import FORMS, target_of

    try:
        return target_of(text, known.distances)
    except ValueError as error:
        raise UsageError(
            f"--detect {text!r}: {error}; {suggestion(text, FORMS)}", remedy=f"There are: {', '.join(FORMS)}."
        ) from error


def _planned(
    endpoint: EndpointConfig, config: Config, targets: list[Target], wanted: Wanted, known: Enrolled
) -> PlanDocument:
    from monitor.check.planned import planned
    from monitor.check.reference import open_tokenizer
    from monitor.render.plan import PlanDocument

    with open_tokenizer(endpoint.reference) as reference:
        found = planned(endpoint, reference.tokenizer, targets, wanted, known, clock.now())
    budget = config.daily_budget_microusd(endpoint.provider)
    return PlanDocument(found, None if budget is None else budget / 1e6)
