"""`monitor evidence`: packs what a run can prove for whoever runs the endpoint, and checks what was packed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from monitor.cli.output import print_json, print_message
from monitor.cli.recorded import opened_store
from monitor.errors import UsageError
from monitor.evidence.classes import failing_classes, of_cases
from monitor.evidence.export import Exported, Wanted
from monitor.evidence.export import export as export_bundle
from monitor.evidence.k2vv import Summary, write_k2vv
from monitor.evidence.subject import subject_of
from monitor.evidence.verify import verify as verify_bundle
from monitor.store import Store
from monitor.store.whole_samples import WholeSamples
from probes.plan import ProbeKind

app = typer.Typer(no_args_is_help=True, help="Pack what a run can prove, check a bundle, write K2VV's result files.")

# As a message whose signature is wrong.
EXIT_NOT_TRUSTED = 3

Run = Annotated[str, typer.Argument(help="The run's id, run_….", show_default=False)]
RevealPrivate = Annotated[
    bool, typer.Option("--reveal-private", help="Also prompts and answers of private eval suites.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]


@app.command()
def export(
    run: Run,
    out: Annotated[Path | None, typer.Option(help="The bundle, RUN.evidence.zip if left out.")] = None,
    per_class: Annotated[int, typer.Option(min=1, max=20, help="Samples of each failing class.")] = 3,
    reference: Annotated[bool, typer.Option("--reference/--no-reference", help="Ask the reference the same.")] = True,
    reveal_private: RevealPrivate = False,
    as_json: AsJson = False,
) -> None:
    """Write a run's bundle: the smallest failing samples of each class, and all it takes to see them again."""
    wanted = Wanted(per_class, reference, reveal_private)
    with _store() as store:
        subject = subject_of(store, run)
        target = out or Path(f"{run}.evidence.zip")
        cases = subject.run.probe in (ProbeKind.TOOL_CALLS, ProbeKind.AGENT_LOOPS)
        classify = of_cases(store.scored(run)) if cases else failing_classes
        exported = export_bundle(subject, WholeSamples(store.sessions), target, wanted, classify)
    if as_json:
        print_json(_export_document(target, exported))
    else:
        _tell_exported(target, exported)


@app.command()
def verify(
    file: Annotated[Path, typer.Argument(help="What `monitor evidence export` wrote.", show_default=False)],
    root: Annotated[str | None, typer.Option(help="The root that the export printed.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check a bundle against its hash chain. Exits 3 where it is not to be trusted."""
    found = verify_bundle(file, root)
    if as_json:
        facts = {"files": found.files, "path": found.path, "problem": found.problem}
        document = {"file": str(file), "ok": found.problem is None, "root": found.root, **facts}
        print_json({"schema": "monitor.evidence_verify/1", **document})
    elif found.problem is None:
        typer.echo(f"verified: {found.files} files, root {found.root}")
    else:
        typer.echo(f"NOT to be trusted: {found.path} {found.problem}")
    if found.problem is not None:
        raise typer.Exit(EXIT_NOT_TRUSTED)


@app.command()
def k2vv(
    run: Run,
    out: Annotated[Path, typer.Option(help="The folder for results.jsonl and summary.json.", show_default=False)],
    reveal_private: RevealPrivate = False,
    as_json: AsJson = False,
) -> None:
    """Write a run as K2-Vendor-Verifier writes its own: results.jsonl and summary.json."""
    with _store() as store:
        subject = subject_of(store, run)
        summary = write_k2vv(subject, WholeSamples(store.sessions), out, reveal_private=reveal_private)
    private = subject.private and not reveal_private
    if as_json:
        counts = {"lines": summary.samples, "left_out": summary.left_out, "private": private}
        print_json({"schema": "monitor.evidence_k2vv/1", "folder": str(out), **counts, "summary": summary.to_dict()})
        return
    typer.echo(f"{out}: {_told(summary)}")
    if private:
        print_message("Left out: requests and responses, whose items are private (--reveal-private puts them in).")
    if summary.left_out:
        print_message(f"Left out: {summary.left_out} samples whose requests and answers are not kept whole.")


@contextmanager
def _store() -> Iterator[Store]:
    with opened_store() as store:
        if store is None:
            raise UsageError("No run was ever saved.", remedy="`monitor probe` makes one.")
        yield store


def _export_document(target: Path, exported: Exported) -> dict[str, object]:
    choice = exported.choice
    classes = [
        {"name": found.failing.name, "samples": found.count, "shown": len(found.ids)} for found in choice.classes
    ]
    counts = {"files": exported.files, "samples": choice.samples, "failed": choice.failed}
    return {
        "schema": "monitor.evidence_export/1",
        "file": str(target),
        "root": exported.root,
        **counts,
        "classes": classes,
        "left_out": list(exported.left_out),
    }


def _tell_exported(target: Path, exported: Exported) -> None:
    choice = exported.choice
    for found in choice.classes:
        typer.echo(f"{found.failing.name}: {found.count} of {choice.samples} samples, {len(found.ids)} shown")
    typer.echo(f"{target}: {exported.files} files, root {exported.root}")
    if not choice.classes:
        print_message("No request of this run failed; the bundle says what the run was found to be.")
    for line in exported.left_out:
        print_message(f"Left out: {line}.")


def _told(summary: Summary) -> str:
    document = summary.to_dict()
    return (
        f"{summary.samples} lines, {summary.success} answered, {document['finish_tool_calls']} with tool calls, "
        f"{summary.valid_calls} of these valid"
    )
