"""The command `monitor`: what sub-commands there are, and the one place where errors become messages and exit codes."""

from __future__ import annotations

import errno
import os
import sys
from typing import TYPE_CHECKING, Annotated

import typer
from typer.main import get_command

from monitor.cli.lazy import LazyEntry, LazyGroup, Stopped
from monitor.cli.output import INTERRUPTED, describe_error, print_error, print_json_error, print_traceback
from monitor.cli.version import version_line
from monitor.errors import UsageError
from monitor.logs import configure_logging

if TYPE_CHECKING:
    from collections.abc import Sequence

    from monitor.cli.output import ErrorReport

# What a shell reports for a program that SIGPIPE ended.
EXIT_PIPE_CLOSED = 141

DISK_FULL = (errno.ENOSPC, errno.EDQUOT)


class Commands(LazyGroup):
    """The sub-commands, in the order in which one meets them."""

    entries = (
        LazyEntry(
            "demo", "monitor.cli.demo:demo", "Show the whole thing: enrol an endpoint, change it, catch both changes."
        ),
        LazyEntry("up", "monitor.cli.up:up", "Run the whole service on this machine."),
        LazyEntry("web", "monitor.cli.web:web", "Serve the pages and the API."),
        LazyEntry("worker", "monitor.cli.worker:worker", "Make checks and send notices."),
        LazyEntry("beat", "monitor.cli.beat:beat", "Wake the workers at fixed times."),
        LazyEntry("status", "monitor.cli.status:status", "Show whether the service runs and keeps up."),
        LazyEntry("doctor", "monitor.cli.doctor:doctor", "Look at everything that the service needs."),
        LazyEntry("db", "monitor.cli.db:app", "Upgrade, check, back up, restore, prune and measure the database."),
        LazyEntry("config", "monitor.cli.config:app", "Write, check and apply the configuration file."),
        LazyEntry("providers", "monitor.cli.providers:app", "List, show and check the configured providers."),
        LazyEntry(
            "probe", "monitor.cli.probe:probe", "Probe an endpoint now: is it what it claims, and has it changed?"
        ),
        LazyEntry(
            "plan", "monitor.cli.plan:plan", "Plan which probes, how often and for how much, see a change in time."
        ),
        LazyEntry(
            "suites",
            "monitor.cli.suites:app",
            "Import, list, show, check, run and remove private eval sets; calibrate tool-call prompts.",
        ),
        LazyEntry("history", "monitor.cli.history:history", "Show past runs and verdicts of a provider."),
        LazyEntry(
            "evidence",
            "monitor.cli.evidence:app",
            "Pack what a run can prove, check a bundle, write K2VV's result files.",
        ),
        LazyEntry("baseline", "monitor.cli.baseline:app", "Show, accept or reset what an endpoint is compared with."),
        LazyEntry(
            "drift",
            "monitor.cli.drift:app",
            "Compute anew what rounds added up to; hold a model's endpoints against each other.",
        ),
        LazyEntry("alerts", "monitor.cli.alerts:app", "List, show and decide about alerts; try a rule on the past."),
        LazyEntry("silence", "monitor.cli.silence:app", "Hold back notices of alerts for a time."),
        LazyEntry("webhook", "monitor.cli.webhook:app", "Try channels, and see what was sent to them."),
        LazyEntry("drill", "monitor.cli.drill:drill", "See whether a drift reaches the channels: a fire drill."),
        LazyEntry("replay", "monitor.cli.replay:replay", "Read recorded answers and show how each is understood."),
        LazyEntry("token", "monitor.cli.token:app", "Make, list and revoke API tokens."),
        LazyEntry("user", "monitor.cli.user:app", "Create, disable and list the people who may sign in."),
        LazyEntry("version", "monitor.cli.version:version", "Show the version and what it runs on."),
    )


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(version_line())
        raise typer.Exit


@app.callback()
def monitor(
    version: Annotated[
        bool, typer.Option("--version", is_eager=True, callback=_print_version, help="Show the version and exit.")
    ] = False,
) -> None:
    """Keeps LLM providers honest: finds silent changes of served models, with proof."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code.

    0 pass, 1 internal error, 2 usage or configuration, 3 drift, 4 inconclusive, 5 provider, 6 reference or database,
    130 interrupted. With `--json` among the arguments an error is one JSON document on stdout.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    configure_logging()
    _open_closed_streams()
    _survive_any_character()
    try:
        code = _run(words)
        sys.stdout.flush()
        return code
    except BrokenPipeError:
        return _pipe_closed()
    except OSError as error:
        return _output_unwritable(error)
    except SystemExit as stop:
        # Rich and Typer meet a closed pipe with exit code 1.
        if isinstance(stop.__context__, BrokenPipeError):
            return _pipe_closed()
        raise


def _run(words: list[str]) -> int:
    try:
        result = get_command(app).main(words, prog_name="monitor", standalone_mode=False)
        # Typer returns the code of typer.Exit; what a command itself returns is no code.
        return result if isinstance(result, int) else 0
    except Stopped as stopped:
        if not stopped.interrupted:
            raise BrokenPipeError from stopped
        report = INTERRUPTED
    except (KeyboardInterrupt, typer.Abort):
        report = INTERRUPTED
    except Exception as error:
        if isinstance(error, OSError) and error.errno in DISK_FULL:
            raise
        report = describe_error(error)
        if _debugging():
            print_traceback(error)
    return _report(report, words)


def _report(report: ErrorReport, words: list[str]) -> int:
    if "--json" in words[: words.index("--") if "--" in words else None]:
        print_json_error(report)
    elif report.message:
        print_error(report)
    return report.exit_code


def _debugging() -> bool:
    from monitor.settings import load_settings

    try:
        return load_settings().debug
    except UsageError:
        return False


def _open_closed_streams() -> None:
    """Python has no stream for what a shell closed (`>&-`), and the next file opened would take its number, here and in
    the programs that are started."""
    for name in ("stdin", "stdout", "stderr"):
        if getattr(sys, name) is None:
            stream = open(os.devnull, "r" if name == "stdin" else "w")  # noqa: SIM115, PTH123
            os.set_inheritable(stream.fileno(), True)
            setattr(sys, name, stream)


def _survive_any_character() -> None:
    """A terminal that lacks a character gets its escape, not a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


def _pipe_closed() -> int:
    _discard_stdout()
    return EXIT_PIPE_CLOSED


def _output_unwritable(error: OSError) -> int:
    """A full disk behind stdout: whatever else a command writes has errors of its own."""
    _discard_stdout()
    report = describe_error(
        UsageError(f"The output cannot be written: {error.strerror}.", remedy="Send it somewhere else.")
    )
    print_error(report)
    return report.exit_code


def _discard_stdout() -> None:
    # The interpreter flushes stdout when it ends, and would complain once more.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
