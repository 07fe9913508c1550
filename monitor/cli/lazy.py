"""Commands that are imported only when they are run: neither `--help` nor a small command waits for a large one."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any, ClassVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class LazyEntry:
    """`target` is "module:attribute": a function with Typer annotations, or a Typer application for a group."""

    name: str
    target: str
    help: str

    def load(self) -> Any:
        """The runnable command, its module imported."""
        module, _, attribute = self.target.partition(":")
        return _command(self.name, getattr(import_module(module), attribute))


class Stopped(Exception):  # noqa: N818 - a stop, not an error of ours
    """Ctrl-C or a closed pipe while a command ran; Typer would turn the bare ones into exit codes of its own."""

    def __init__(self, cause: KeyboardInterrupt | BrokenPipeError) -> None:
        super().__init__(str(cause))
        self.interrupted = isinstance(cause, KeyboardInterrupt)


class LazyGroup(TyperGroup):
    """A group whose help lists `entries` as they stand; running one imports it."""

    entries: ClassVar[tuple[LazyEntry, ...]] = ()

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        for entry in self.entries:
            self.add_command(TyperCommand(entry.name, help=entry.help))

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        # Help and completion of names take placeholders from get_command; only what is to run comes by here.
        name, command, rest = super().resolve_command(ctx, args)
        entry = next((entry for entry in self.entries if entry.name == name), None)
        return name, entry.load() if entry is not None else command, rest

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, BrokenPipeError) as cause:
            raise Stopped(cause) from cause


def _command(name: str, found: typer.Typer | Callable[..., object]) -> Any:
    # A group around the command: without it, Typer would give the command options to install shell completion.
    around = typer.Typer(add_completion=False)
    around.callback()(_no_options)
    if isinstance(found, typer.Typer):
        around.add_typer(found, name=name)
    else:
        around.command(name)(found)
    group: Any = get_command(around)
    return group.commands[name]


def _no_options() -> None:
    """The surrounding group has no options."""
