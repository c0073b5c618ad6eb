"""A source that waits while a MERGE reads it, so that other writers can commit meanwhile."""

from __future__ import annotations

from collections.abc import Callable


def waiting(folder: str) -> Callable[[str], str]:
    """A function that creates a file ``*.begun`` when called and waits until it is renamed to ``*.go``.

    Only the first call waits: a statement may read a source in two tasks, which would leave no core for another writer.
    """

    def wait(value: str) -> str:
        import pathlib
        import time
        import uuid

        if any(pathlib.Path(folder).glob("*.begun")):
            return value
        here = pathlib.Path(folder, uuid.uuid4().hex)
        here.with_suffix(".begun").touch()
        for _ in range(1200):
            if here.with_suffix(".go").exists():
                break
            time.sleep(0.1)
        return value

    return wait
