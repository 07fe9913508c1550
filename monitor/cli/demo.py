"""`monitor demo`: the main job shown from nothing, on this machine, in a minute or two."""

from __future__ import annotations

import tempfile
from pathlib import Path

from monitor.cli.output import stdout_console
from monitor.cli.progress import progress_bar
from monitor.demo import Scene, run_demo
from monitor.render.terminal import print_verdict
from monitor.verdict import VerdictDocument, exit_code


def demo() -> None:
    """Enrol a local endpoint, change its stack twice, and catch both changes. Exits 0 if all went as shown."""
    console = stdout_console(markup=True)

    def show(scene: Scene, document: VerdictDocument) -> None:
        console.print(f"\n[bold]{scene.title}[/bold]  (endpoint: reference-engine serve {' '.join(scene.stack)})\n")
        print_verdict(console, document, exit_code(document, "drift"))

    with tempfile.TemporaryDirectory(prefix="monitor-demo-") as directory, progress_bar() as progress:
        run_demo(Path(directory), progress, show)
    console.print("\n[green]Both changes were caught, and the causes named.[/green]")
