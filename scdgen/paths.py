"""The files of a user's folders: read and written here alone, and never through a link.

Whoever wrote a spec may also have put a link next to it or into the folder of the output. A relative path is checked
from the working folder on, an absolute one from the folder above the file, or from ``root``.
"""

from __future__ import annotations

import os
import re
import secrets
import stat
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from scdgen.errors import Problem, SpecError


def spark_url(path: Path) -> str:
    """A local path for Spark, which takes a URL as it is: it would look for a folder named ``a%20b``.

    >>> spark_url(Path("/tmp/a b"))
    'file:///tmp/a b'
    """
    return f"file://{path.absolute()}"


def exists(path: Path, root: Path | None = None) -> bool:
    """Whether a file is there. Raises :class:`SpecError` for a link."""
    _require_no_link(path, root)
    return path.exists()


def read_bytes(path: Path, root: Path | None = None) -> bytes:
    """Read a file.

    Raises :class:`SpecError` for a link, and for what is not a file, such as a pipe, which would be waited for.
    """
    _require_no_link(path, root)
    with open(path, "rb", opener=_open) as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise _refusal(path, "is not a regular file; remove it")
        return file.read()


def read_text(path: Path) -> str:
    """Read a file of UTF-8 text, with line breaks of any system. Raises as :func:`read_bytes` does."""
    return read_bytes(path).decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")


def write_text(path: Path, text: str, root: Path | None = None) -> None:
    """Write a file whole or not at all, and create its folder. Raises :class:`SpecError` as :func:`read_bytes` does."""
    if exists(path, root) and not path.is_file() and not path.is_dir():
        raise _refusal(path, "is not a regular file; remove it")
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".scdgen-{secrets.token_hex(8)}")
    try:
        # A name that is not there yet, with the rights of the umask, which a file of tempfile would not have.
        with part.open("xb") as file:
            file.write(text.encode())
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        error.filename, error.filename2 = str(path), None  # not the temporary file
        raise


def remove(path: Path, root: Path | None = None) -> None:
    """Remove a file. Raises :class:`SpecError` for a link."""
    _require_no_link(path, root)
    path.unlink()


def folder_name(parts: Sequence[str]) -> str:
    """Return the name of a folder for a qualified name, of letters, digits, _ and -; no two names have the same.

    >>> folder_name(("crm", "dim_customer")), folder_name(("crm", "a.b/c"))
    ('crm.dim_customer', 'crm.a%2Eb%2Fc')
    """
    return ".".join(re.sub(r"[^\w-]", lambda found: _escaped(found[0]), part) for part in parts)


def _escaped(character: str) -> str:
    return quote(character, safe="") if not character.isascii() else f"%{ord(character):02X}"


def _open(path: str, flags: int) -> int:
    # Neither through a link that has just been made, nor waiting for the other end of a pipe.
    return os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0))


def _require_no_link(path: Path, root: Path | None) -> None:
    first = len((root or path.parent).parts) if path.is_absolute() else 0
    for count in range(first + 1, len(path.parts) + 1):
        place = Path(*path.parts[:count])
        if place.is_symlink():
            raise _refusal(place, "is a link; remove it")


def _refusal(path: Path, what: str) -> SpecError:
    return SpecError([Problem(path.as_posix(), 0, 0, what)])


def home_folder() -> Path:
    """The user's home; without one, as in some containers, a path below which nothing exists or can be created."""
    try:
        return Path.home()
    except RuntimeError:
        return Path(os.devnull)


def cache_folder() -> Path:
    """The folder of scdgen in the user's cache. As its specification says, a relative XDG_CACHE_HOME is ignored."""
    given = Path(os.environ.get("XDG_CACHE_HOME", ""))
    return (given if given.is_absolute() else home_folder() / ".cache") / "scdgen"


def make_private(folder: Path) -> bool:
    """Create a folder that only this user can write, and return whether it is one.

    Java and Python run what the files in it hold.
    """
    with suppress(OSError):  # a cache is optional
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.lstat()
        is_own = not hasattr(os, "getuid") or (found.st_uid == os.getuid() and not found.st_mode & 0o022)
        return stat.S_ISDIR(found.st_mode) and is_own
    return False
