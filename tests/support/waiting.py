"""A source that waits while a MERGE reads it, so that other writers can commit meanwhile."""

from __future__ import annotations

from collections.abc import Callable


def waiting(folder: str) -> Callable[[str], str]:
    """A function that creates a file ``reader.begun`` when called and waits until it is renamed to ``reader.go``.

    Only the first call waits: a statement may read a source in two tasks, which would leave no core for another writer.
    """

    def wait(value: str) -> str:
        import pathlib
        import time

        begun, go = pathlib.Path(folder, "reader.begun"), pathlib.Path(folder, "reader.go")
        try:
            begun.touch(exist_ok=False)  # of two tasks at one time, one creates it
        except FileExistsError:
            return value
        for _ in range(1200):
            if go.exists():
                go.unlink(missing_ok=True)
                break
            time.sleep(0.1)
        return value

    return wait
