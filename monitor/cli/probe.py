"""`monitor probe`: one check of one endpoint, as table, JSON, JUnit or Markdown, with the exit code of its verdict."""

from __future__ import annotations

import sys
from dataclasses import replace
from datetime import timedelta
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from monitor import clock
from monitor.check.budget import Budget
from monitor.check.eval_resume import resumed
from monitor.check.eval_suite import EvalSuite
from monitor.check.options import DEFAULT_N, FULL, OFFERED, PROBES, QUICK, CheckOptions
from monitor.check.own import NONCE_BYTES
from monitor.check.plans import Drawn, Estimate, affordable_plans, switch_of
from monitor.check.reference import open_reference
from monitor.check.run import run_check
from monitor.cli.asked_endpoint import one_endpoint, timeout_seconds
from monitor.cli.load_options import Rate, Sizes, SloTexts, Streams, load_of, slos_of
from monitor.cli.opened_suite import BUILT_IN, eval_suite
from monitor.cli.output import print_json, stdout_console
from monitor.cli.probe_options import (
    AnswerTokens,
    AsJson,
    DryRun,
    Failing,
    JunitFile,
    MaxCost,
    MaxRequests,
    MaxTokens,
    MdFile,
    Model,
    Provider,
    Reps,
    Save,
    Timeout,
)
from monitor.cli.progress import progress_bar
from monitor.config import EndpointConfig, load_config
from monitor.errors import UsageError
from monitor.render.junit import junit
from monitor.render.markdown import markdown
from monitor.render.terminal import print_verdict
from monitor.settings import load_settings
from monitor.verdict import VerdictDocument, exit_code
from probes.plan import Plan, ProbeKind


class Probe(StrEnum):
    LOGPROBS = ProbeKind.LOGPROBS.value
    ACCOUNTING = ProbeKind.ACCOUNTING.value
    LATENCY = ProbeKind.LATENCY.value
    TOOL_CALLS = ProbeKind.TOOL_CALLS.value
    PROTOCOL = ProbeKind.PROTOCOL.value
    AGENT_LOOPS = ProbeKind.AGENT_LOOPS.value
    SAMPLING = ProbeKind.SAMPLING.value
    GREEDY = ProbeKind.GREEDY.value
    BORDER = ProbeKind.BORDER.value


def probe(
    provider: Provider,
    model: Model = None,
    probes: Annotated[
        list[Probe] | None, typer.Option("--probe", help="Only this probe; may be given several times.")
    ] = None,
    suite: Annotated[
        str | None,
        typer.Option(
            metavar="quick|full|NAME",
            help="All probes but agent loops, and of tool calls the eighth whose turn it is; or all there is; "
            "or a private suite, alone.",
        ),
    ] = None,
    n: Annotated[int, typer.Option("--n", help="Single-token requests of the check.")] = DEFAULT_N,
    reps: Reps = 1,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on with the last check of these options, broken off within a day.")
    ] = False,
    rate: Rate = None,
    streams: Streams = None,
    sizes: Sizes = None,
    slo: SloTexts = None,
    max_cost: MaxCost = None,
    max_requests: MaxRequests = None,
    max_tokens: MaxTokens = None,
    answer_tokens: AnswerTokens = None,
    timeout: Timeout = None,
    as_json: AsJson = False,
    junit_file: JunitFile = None,
    md_file: MdFile = None,
    dry_run: DryRun = False,
    save: Save = True,
    fail_on: Failing = "drift",
) -> None:
    """Probe an endpoint now: is it what it claims, and has it changed?

    Exit codes: 0 pass, 1 internal error, 2 usage or configuration, 3 drift (with --fail-on suspect also suspect),
    4 inconclusive, 5 provider unreachable, 6 reference or database unavailable, 130 interrupted.
    """
    settings = load_settings()
    config = load_config(settings.config)
    endpoint = one_endpoint(config.endpoints(provider, model), provider)
    evals = _private(suite, probes, reps)
    if resume and (dry_run or not save):
        raise UsageError("--resume sends what is missing, and keeps it.", remedy="Leave --dry-run and --no-save out.")
    if evals is not None and resume:
        evals = resumed(evals, endpoint, settings.data)
    chosen = _chosen(probes, suite) if evals is None else (ProbeKind.EVALS,)
    load = load_of(rate, streams, sizes)
    if (load or slo) and ProbeKind.LATENCY not in chosen:
        raise UsageError("--rate, --streams, --sizes and --slo are for latency.", remedy="Add --probe latency.")
    if answer_tokens is not None and not {ProbeKind.TOOL_CALLS, ProbeKind.AGENT_LOOPS} & set(chosen):
        raise UsageError(
            "--answer-tokens is for tool calls and agent loops.",
            remedy="Add --probe tool_calls, --probe agent_loops or --suite.",
        )
    if promised := slos_of(slo):
        endpoint = replace(endpoint, slos=promised)
    options = CheckOptions(
        probes=chosen,
        n=n,
        whole_suite=suite == "full",
        answer_tokens=answer_tokens,
        evals=evals,
        load=load,
        budget=Budget(max_cost, max_requests, max_tokens),
        timeout=timeout_seconds(timeout),
        save=save,
        resume=resume and evals is None,
        keep_bodies=timedelta(seconds=config.file.retention.bodies),
    )
    if dry_run:
        _show_plans(endpoint, options, as_json=as_json)
        return
    for file in (junit_file, md_file):
        _ensure_writable(file)
    with progress_bar() as progress:
        document = run_check(endpoint, options, settings.data, progress)
    code = exit_code(document, fail_on)
    _show(document, code, as_json=as_json)
    if junit_file is not None:
        _write(junit_file, junit(document, fail_on))
    if md_file is not None:
        _write(md_file, markdown(document))
    raise typer.Exit(code)


def _private(suite: str | None, probes: list[Probe] | None, reps: int) -> EvalSuite | None:
    """The private suite that is asked for; it is asked alone."""
    if suite is None or suite in BUILT_IN:
        if reps != 1:
            raise UsageError("--reps is for private suites.", remedy="Name one with --suite.")
        return None
    if probes:
        raise UsageError("A private suite is asked alone, without --probe.", remedy="Leave --probe out.")
    return eval_suite(suite, reps)


def _chosen(probes: list[Probe] | None, suite: str | None) -> tuple[ProbeKind, ...]:
    named = {probe.value for probe in probes or ()}
    if named:
        return tuple(kind for kind in OFFERED if kind.value in named)
    return {None: PROBES, "quick": QUICK}.get(suite, FULL)


def _show_plans(endpoint: EndpointConfig, options: CheckOptions, *, as_json: bool) -> None:
    """What a check would send. Draws its prompts from a throw-away seed, so that it needs no data directory."""
    with open_reference(endpoint.reference) as reference:
        planned, estimate = affordable_plans(
            options,
            Drawn(bytes(32), bytes(NONCE_BYTES), clock.now(), rpm=endpoint.rpm, switch=switch_of(endpoint)),
            tokenizer=reference.tokenizer,
            has_reference=reference.answers,
            prices=endpoint.prices,
            beside=reference.beside,
        )
    if as_json:
        print_json(_plan_document(endpoint, planned.plans, estimate))
        return
    usd = "price not configured" if estimate.usd is None else f"at most ${estimate.usd:.6f}"
    for plan in planned.plans:
        typer.echo(f"{plan.probe.value}: {len(plan.foreseen)} requests, suite {plan.suite_version}")
    typer.echo(
        f"{estimate.requests} requests to {endpoint.base_url}, about {estimate.tokens.prompt} tokens in, "
        f"at most {estimate.tokens.completion} out, {usd}. Nothing was sent."
    )


def _plan_document(endpoint: EndpointConfig, plans: tuple[Plan, ...], estimate: Estimate) -> dict[str, object]:
    return {
        "schema": "monitor.probe.plan/1",
        "provider": endpoint.provider,
        "model": endpoint.model,
        "endpoint": endpoint.base_url,
        "plans": [
            {"probe": plan.probe.value, "requests": len(plan.foreseen), "suite": plan.suite_version} for plan in plans
        ],
        "cost": {
            "requests": estimate.requests,
            "tokens_in": estimate.tokens.prompt,
            "tokens_out": estimate.tokens.completion,
            "usd": estimate.usd,
        },
    }


def _show(document: VerdictDocument, code: int, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(document.to_json() + "\n")
        return
    print_verdict(stdout_console(markup=True), document, code)


def _ensure_writable(file: Path | None) -> None:
    """Before anything is spent: a report that cannot be written is a mistake in the command."""
    if file is None:
        return
    try:
        possible = file.parent.is_dir() and not file.is_dir()
    except OSError:
        possible = False
    if not possible:
        raise UsageError(f"The report {file} cannot be written there.", remedy="Name a file in a folder that exists.")


def _write(file: Path, text: str) -> None:
    try:
        file.write_text(text, encoding="utf-8")
    except OSError as error:
        raise UsageError(
            f"The report {file} cannot be written: {error.strerror or error}.", remedy="Name another file."
        ) from error
