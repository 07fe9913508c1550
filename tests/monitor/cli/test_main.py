"""The command itself: exit codes, one form for every error, and nothing secret in any of it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from monitor.cli.version import LIBRARIES, package_version
from tests.monitor.cli.commands import CANARY, Monitor

ROOT = Path(__file__).parents[3]

WITH_BAD_COMMANDS = """
import sys
from monitor.cli import Commands, main
from tests.monitor.cli.commands import BAD_COMMANDS
Commands.entries = (*Commands.entries, *BAD_COMMANDS)
sys.exit(main())
"""


def start(*arguments: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", WITH_BAD_COMMANDS, *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def test_without_arguments_it_shows_what_there_is(monitor: Monitor) -> None:
    ran = monitor()

    assert ran.code == 2
    assert "Usage: monitor" in ran.out
    assert ran.err == ""


@pytest.mark.parametrize("option", ["--help", "-h"])
def test_help_lists_every_command(monitor: Monitor, option: str) -> None:
    ran = monitor(option)

    assert ran.code == 0
    for name in ("demo", "config", "providers", "probe", "history", "baseline", "replay", "version"):
        assert f" {name} " in ran.out


def test_help_and_small_commands_load_no_large_library() -> None:
    program = (
        "import sys; from monitor.cli import main; main(['--help']); main(['version']); main(['config', '--help']);"
        "print(sorted({'torch', 'sqlalchemy', 'httpx', 'scipy', 'transformers', 'fastapi'} & set(sys.modules)))"
    )

    ran = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert ran.stdout.splitlines()[-1] == "[]"


def test_the_version_is_an_option_and_a_command(monitor: Monitor) -> None:
    assert monitor("--version").out == f"endpoint-monitor {package_version()}\n"
    assert monitor("version").out.startswith(f"endpoint-monitor {package_version()}\nPython 3.")


def test_the_version_as_json_names_the_libraries(monitor: Monitor) -> None:
    document = monitor("version", "--json").document

    assert document["schema"] == "monitor.version/1"
    assert document["version"] == package_version()
    assert set(document["libraries"]) == set(LIBRARIES)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("prob",), "No such command 'prob'. Did you mean 'probe'?"),
        (("version", "--jsn"), "No such option: --jsn"),
        (("version", "extra"), "Got unexpected extra argument(s) (extra)"),
        (("providers", "show"), "Missing argument 'slug'."),
        (("probe", "--provider", "x", "--probe", "boder"), "Invalid value for '--probe': 'boder' is not one of"),
    ],
)
def test_a_usage_error_is_exit_2_and_names_the_help(monitor: Monitor, arguments: tuple[str, ...], message: str) -> None:
    ran = monitor(*arguments)

    assert ran.code == 2
    assert ran.out == ""
    first, second = ran.err.splitlines()
    assert first.startswith(f"error[usage]: {message}")
    assert second.startswith("`monitor ")
    assert second.endswith("--help` shows what there is.")


def test_with_json_a_usage_error_is_a_document(monitor: Monitor) -> None:
    ran = monitor("prob", "--json")

    assert ran.code == 2
    assert ran.err == ""
    assert ran.document == {
        "schema": "monitor.error/1",
        "error": {
            "code": "usage",
            "message": "No such command 'prob'. Did you mean 'probe'?",
            "remedy": "`monitor --help` shows what there is.",
            "exit_code": 2,
        },
    }


@pytest.mark.usefixtures("bad_commands")
def test_a_coded_error_is_shown_with_code_and_remedy_redacted_and_harmless(monitor: Monitor) -> None:
    ran = monitor("coded")

    assert ran.code == 6
    assert ran.out == ""
    assert ran.err == "error[database_unavailable]: The disk [31mholds [redacted] only.\nFree some space.\n"


@pytest.mark.usefixtures("bad_commands")
def test_with_json_a_coded_error_is_one_document(monitor: Monitor) -> None:
    ran = monitor("coded", "--json")

    assert ran.code == 6
    assert ran.err == ""
    assert ran.document["error"] == {
        "code": "database_unavailable",
        "message": "The disk [31mholds [redacted] only.",
        "remedy": "Free some space.",
        "exit_code": 6,
    }


@pytest.mark.usefixtures("bad_commands")
def test_an_error_without_a_remedy_is_one_line(monitor: Monitor) -> None:
    assert monitor("silent-remedy").err == "error[usage]: No remedy is known.\n"


@pytest.mark.usefixtures("bad_commands")
def test_json_after_the_separator_is_an_argument(monitor: Monitor) -> None:
    ran = monitor("coded", "--", "--json")

    assert ran.out == ""
    assert ran.err.startswith("error[usage]: ")


@pytest.mark.usefixtures("bad_commands")
def test_an_unexpected_exception_is_one_redacted_line_and_a_hint(monitor: Monitor) -> None:
    ran = monitor("boom")

    assert ran.code == 1
    assert ran.err.splitlines() == [
        "error[internal_error]: Internal error: ValueError: first line with [redacted] second line",
        "MONITOR_DEBUG=1 shows where it happened.",
    ]
    assert CANARY not in ran.out + ran.err


@pytest.mark.usefixtures("bad_commands")
def test_debugging_shows_the_traceback_and_its_causes_redacted(
    monitor: Monitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MONITOR_DEBUG", "1")

    ran = monitor("boom", "--json")

    assert ran.code == 1
    assert ran.document["error"]["code"] == "internal_error"
    assert "Traceback (most recent call last)" in ran.err
    assert "KeyError: 'plain [redacted]'" in ran.err
    assert CANARY not in ran.out + ran.err


@pytest.mark.usefixtures("bad_commands")
@pytest.mark.parametrize("code", [0, 3, 4])
def test_the_code_of_a_verdict_is_the_exit_code(monitor: Monitor, code: int) -> None:
    assert monitor("exits", str(code)).code == code


@pytest.mark.usefixtures("bad_commands")
def test_a_return_value_is_no_exit_code(monitor: Monitor) -> None:
    assert monitor("returns").code == 0


@pytest.mark.usefixtures("bad_commands")
def test_an_interrupted_command_is_exit_130(monitor: Monitor) -> None:
    ran = monitor("interrupt")

    assert (ran.code, ran.out, ran.err) == (130, "", "error[interrupted]: Interrupted.\n")
    assert monitor("interrupt", "--json").document["error"]["exit_code"] == 130


def test_ctrl_c_ends_a_running_command_with_130() -> None:
    with start("wait", "--json") as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)

    assert process.returncode == 130
    assert json.loads(out)["error"]["code"] == "interrupted"
    assert err == ""


def test_a_closed_pipe_ends_a_command_quietly() -> None:
    with start("flood") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "a line of data\n"
        process.stdout.close()
        assert process.stderr is not None
        err = process.stderr.read()

    assert process.returncode == 141
    assert err == ""


def test_a_pipe_that_is_closed_before_a_table_is_printed_ends_quietly(tmp_path: Path) -> None:
    (tmp_path / "providers.yaml").write_text(
        "version: 1\nmodels: { m: }\nproviders: [ { slug: x, base_url: https://x.example/v1, models: "
        "[ { model: m, name: m } ] } ]\n"
    )
    reader, writer = os.pipe()
    os.close(reader)

    ran = subprocess.run(
        [sys.executable, "-m", "monitor", "providers", "list"],
        cwd=ROOT,
        env={**os.environ, "MONITOR_CONFIG": str(tmp_path / "providers.yaml")},
        stdout=writer,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    os.close(writer)

    assert (ran.returncode, ran.stderr) == (141, "")


@pytest.mark.parametrize("arguments", [("version", "--json"), ("version",), ("--help",), ("prob", "--json")])
def test_output_that_cannot_be_written_is_an_error(arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(
            [sys.executable, "-m", "monitor", *arguments],
            cwd=ROOT,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )

    assert ran.returncode == 2
    assert ran.stderr == (
        "error[usage]: The output cannot be written: No space left on device.\nSend it somewhere else.\n"
    )


def test_a_closed_output_changes_no_exit_code() -> None:
    closed = f"{sys.executable} -m monitor version >&-"

    ran = subprocess.run(["sh", "-c", closed], cwd=ROOT, stderr=subprocess.PIPE, text=True, check=False)

    assert (ran.returncode, ran.stderr) == (0, "")


def test_what_stands_for_a_closed_stream_is_there_for_other_programs_too() -> None:
    program = "import os; from monitor.cli import main; main(['version']); print(*map(os.get_inheritable, range(3)))"
    closed = f'{sys.executable} -c "{program}" <&- 2>&-'

    ran = subprocess.run(["sh", "-c", closed], cwd=ROOT, stdout=subprocess.PIPE, text=True, check=False)

    assert ran.stdout.splitlines()[-1:] == ["True True True"]
