# SPDX-License-Identifier: Apache-2.0
"""Progress of a run on stderr: a bar with rich, plain lines without, nothing where no one looks."""

from __future__ import annotations

import importlib.util
import sys
from types import TracebackType


class Progress:
    """`with Progress(total) as progress: ... progress(text of a finished row)`."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._done = 0
        self._shown = sys.stderr.isatty()
        self._bar = None
        if self._shown and importlib.util.find_spec("rich") is not None:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                BarColumn(),
                MofNCompleteColumn(),
                TimeElapsedColumn(),
                TextColumn("{task.description}"),
                console=Console(stderr=True),
                transient=True,
            )

    def __enter__(self) -> Progress:
        if self._bar is not None:
            self._bar.start()
            self._task = self._bar.add_task("warming up", total=self._total)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, text: str) -> None:
        self._done += 1
        if not self._shown:
            return
        if self._bar is not None:
            self._bar.update(self._task, advance=1, description=text)
        else:
            print(f"[{self._done}/{self._total}] {text}", file=sys.stderr, flush=True)
