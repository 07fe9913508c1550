"""`monitor suites`: import, list, show, lint, run and remove private eval sets. Their text is printed only by
--reveal."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from monitor import clock
from monitor.cli.access_store import this_person
from monitor.cli.opened_suite import BUILT_IN, checked_name, no_suite, opened_suite
from monitor.cli.output import print_json, print_message, print_table
from monitor.cli.probe_options import (
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
    Resume,
    Save,
    Timeout,
)
from monitor.cli.recorded import created_store, opened_store
from monitor.errors import UsageError
from monitor.settings import load_settings
from monitor.store.suites import SuiteRecord
from monitor.suites.key import key_to_seal
from monitor.suites.suites import OpenSuite, Source, Suites, opened
from probes.evals.formats import Format, Reading, detect, load_companion, read_items
from probes.evals.item import EvalItem, GraderKind
from probes.evals.lint import Problem, lint

IMPORT_SCHEMA = "monitor.suite_import/1"
LIST_SCHEMA = "monitor.suites/1"
SHOW_SCHEMA = "monitor.suite/1"
LINT_SCHEMA = "monitor.suite_lint/1"
REMOVE_SCHEMA = "monitor.suite_remove/1"

EXIT_FLAWED = UsageError.exit_code

app = typer.Typer(
    no_args_is_help=True,
    help="Import, list, show, check, run and remove private eval sets; calibrate tool-call prompts.",
)

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Name = Annotated[str, typer.Argument(help="The suite's name.")]
HowRead = Annotated[Format | None, typer.Option("--format", help="The file's format. Default: by its first line.")]
Second = Annotated[
    Path | None, typer.Option("--with", help="The second file of a format that has one: tools, or answers.")
]
Graded = Annotated[
    GraderKind | None, typer.Option("--grader", help="For questions with a free answer: how it is graded.")
]


@app.command("import")
def import_suite(
    file: Annotated[Path, typer.Argument(help="A file of eval items, one JSON object a line.")],
    name: Annotated[str | None, typer.Option(help="The suite's name. Default: the file's.")] = None,
    how: HowRead = None,
    second: Second = None,
    grader: Graded = None,
    as_json: AsJson = False,
) -> None:
    """Make a file a version of a suite, sealed. Items that are there already make no new version."""
    chosen = checked_name(name or file.stem.lower().replace(" ", "-"))
    settings = load_settings()
    reading = _reading(file, how, second, grader)
    with created_store() as store:
        key = key_to_seal(settings, settings.data)
        source = Source(file, reading, settings.data_dir)
        done = Suites(store.sessions).import_file(chosen, source, key, actor=this_person(), at=clock.now())
    if as_json:
        print_json({"schema": IMPORT_SCHEMA, **_item(done.record), "new": done.new})
        return
    told = _told(done.record)
    print_message(f"Imported {told}." if done.new else f"{told} is there already, and in use.")
    print_message(f"`monitor suites lint {chosen}` looks for items that prove nothing.")


@app.command("list")
def list_suites(as_json: AsJson = False) -> None:
    """List the suites, each with the version in use. Needs no key."""
    with opened_store() as store:
        found = [] if store is None else Suites(store.sessions).records()
    if as_json:
        print_json({"schema": LIST_SCHEMA, "suites": [_item(record) for record in found]})
    elif found:
        columns = ("name", "version", "items", "format", "sha256", "imported (UTC)")
        print_table(columns, [_row(record) for record in found])
    else:
        print_message("No suites yet. `monitor suites import FILE` makes one.")


@app.command()
def show(
    name: Name,
    reveal: Annotated[
        bool, typer.Option("--reveal", help="Print the items themselves, one JSON line each. It is noted in the log.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what a suite is made of: hashes, counts, categories; of its text nothing without --reveal."""
    with opened_suite(name) as (suites, suite):
        if reveal:
            suites.note_revealed(suite.record, actor=this_person(), at=clock.now())
            _print_text(suite, as_json=as_json)
        elif as_json:
            versions = [_item(record) for record in suites.versions(name)]
            print_json({"schema": SHOW_SCHEMA, **_summary(suite), "versions": versions})
        else:
            columns = ("version", "items", "format", "sha256", "imported (UTC)")
            print_table(columns, [_row(record)[1:] for record in suites.versions(name)])
            _print_counts(suite)


@app.command("lint")
def lint_suite(
    target: Annotated[str, typer.Argument(help="A suite's name, or a file.")],
    how: HowRead = None,
    second: Second = None,
    grader: Graded = None,
    as_json: AsJson = False,
) -> None:
    """Look for items that cannot fail or pass, lack what is expected, ask twice, show a canary, or have open schemas.
    Exits 2 where an item is worth nothing."""
    if Path(target).is_file():
        reading = _reading(Path(target), how, second, grader)
        with opened(Path(target)) as file:
            problems = list(lint((numbered.line, numbered.item) for numbered in read_items(file, reading)))
    else:
        with opened_suite(checked_name(target)) as (_, suite):
            problems = list(lint(enumerate(suite.items(), start=1), suite.head.canary))
    _print_problems(target, problems, as_json=as_json)
    raise typer.Exit(EXIT_FLAWED if any(problem.error for problem in problems) else 0)


@app.command()
def run(
    name: Name,
    provider: Provider,
    model: Model = None,
    reps: Reps = 1,
    resume: Resume = False,
    max_cost: MaxCost = None,
    max_requests: MaxRequests = None,
    max_tokens: MaxTokens = None,
    timeout: Timeout = None,
    as_json: AsJson = False,
    junit_file: JunitFile = None,
    md_file: MdFile = None,
    dry_run: DryRun = False,
    save: Save = True,
    fail_on: Failing = "drift",
) -> None:
    """Ask an endpoint a suite's items, and grade the answers: `monitor probe --suite NAME`."""
    # Here: the other commands of suites have no use for what a check is made of.
    from monitor.cli.probe import probe

    if name in BUILT_IN:
        raise no_suite(name)
    probe(
        provider,
        model,
        suite=name,
        reps=reps,
        resume=resume,
        max_cost=max_cost,
        max_requests=max_requests,
        max_tokens=max_tokens,
        timeout=timeout,
        as_json=as_json,
        junit_file=junit_file,
        md_file=md_file,
        dry_run=dry_run,
        save=save,
        fail_on=fail_on,
    )


@app.command()
def calibrate(
    provider: Provider,
    model: Model = None,
    timeout: Annotated[
        str | None, typer.Option(help="Ask nothing more after this time, such as 90s or 10m; the next call goes on.")
    ] = None,
    as_json: AsJson = False,
    dry_run: DryRun = False,
) -> None:
    """Ask an endpoint's reference the ambiguous tool-call prompts: its checks then ask those that it is in doubt about.
    Exits 4 while answers are missing."""
    # Here: as for `run`.
    from monitor.cli.asked_endpoint import timeout_seconds
    from monitor.cli.calibrate import EXIT_UNFINISHED, calibrating

    within_s = timeout_seconds(timeout)
    with calibrating(provider, model) as calibration:
        shelved = calibration.shelf.take_down() if dry_run else calibration.go_on(within_s)
        calibration.report(shelved, as_json=as_json)
    if shelved.finished_at is None and not dry_run:
        raise typer.Exit(EXIT_UNFINISHED)


@app.command()
def remove(name: Name, as_json: AsJson = False) -> None:
    """Delete a suite with all its versions. What it found stays, with the hashes of its items."""
    with opened_store() as store:
        if store is None:
            raise no_suite(name)
        Suites(store.sessions).remove(name, actor=this_person(), at=clock.now())
    if as_json:
        print_json({"schema": REMOVE_SCHEMA, "name": name})
    else:
        print_message(f"Removed {name}.")


def _reading(file: Path, how: Format | None, second: Path | None, grader: GraderKind | None) -> Reading:
    if second is None:
        return Reading(how, grader=grader)
    with opened(file) as lines, opened(second) as content:
        known = how or detect(lines)
        return Reading(known, load_companion(known, content), grader)


def _told(record: SuiteRecord) -> str:
    return f"{record.name} version {record.version} ({record.sha256[:12]}, {record.items} items, {record.format})"


def _row(record: SuiteRecord) -> tuple[str, ...]:
    at = record.imported_at.strftime("%Y-%m-%d %H:%M")
    return (record.name, str(record.version), str(record.items), record.format, record.sha256[:12], at)


def _item(record: SuiteRecord) -> dict[str, Any]:
    return {
        "name": record.name,
        "version": record.version,
        "sha256": record.sha256,
        "format": record.format,
        "items": record.items,
        "key_id": record.key_id,
        "imported_by": record.imported_by,
        "imported_at": record.imported_at.isoformat(),
    }


def _summary(suite: OpenSuite) -> dict[str, Any]:
    contents = [
        {"sha256": item.sha256, "grader": item.grader.kind.value, "category": item.category} for item in suite.items()
    ]
    counts = {"graders": dict(suite.head.graders), "categories": dict(suite.head.categories)}
    return {**_item(suite.record), **counts, "contents": contents}


def _print_text(suite: OpenSuite, *, as_json: bool) -> None:
    lines = (_revealed(item, suite) for item in suite.items())
    if as_json:
        print_json({"schema": SHOW_SCHEMA, **_item(suite.record), "contents": list(lines)})
        return
    for line in lines:
        typer.echo(json.dumps(line))


def _revealed(item: EvalItem, suite: OpenSuite) -> dict[str, Any]:
    """In our own format; the canary goes with the text, so that it can be found wherever it comes to light."""
    return {**json.loads(item.line), "canary": suite.head.canary}


def _print_counts(suite: OpenSuite) -> None:
    counted: list[tuple[str, Mapping[str, int]]] = [
        ("grader", suite.head.graders),
        ("category", {name or "–": count for name, count in suite.head.categories.items()}),
    ]
    for what, counts in counted:
        print_table((what, "items"), [(name, str(count)) for name, count in counts.items()])


def _print_problems(target: str, problems: list[Problem], *, as_json: bool) -> None:
    if as_json:
        found = [
            {
                "place": each.place,
                "sha256": each.sha256,
                "flaw": each.flaw.value,
                "error": each.error,
                "first": each.first,
            }
            for each in problems
        ]
        ok = not any(problem.error for problem in problems)
        print_json({"schema": LINT_SCHEMA, "target": target, "ok": ok, "problems": found})
        return
    rows = [
        (str(each.place), each.sha256[:12], "error" if each.error else "warning", each.flaw.value, _first(each))
        for each in problems
    ]
    if rows:
        print_table(("item", "sha256", "", "flaw", ""), rows)
    counts = Counter(problem.flaw.value for problem in problems)
    print_message(
        ", ".join(f"{flaw}: {count}" for flaw, count in counts.most_common()) or f"Nothing wrong in {target}."
    )


def _first(problem: Problem) -> str:
    return "" if problem.first is None else f"as item {problem.first}"
