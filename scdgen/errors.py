"""The errors that users see; the command line turns them into lines on stderr and an exit status in one place."""

from __future__ import annotations

import difflib
import errno
import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from scdgen.url import hide_secrets

_LONGEST, _LONGEST_QUOTE = 320, 80  # characters of a message, and of a text that it quotes
STATEMENT = "    "  # the indent of lines that are statements to paste


def printable(text: str) -> str:
    r"""Escape the characters that move the cursor, hide text or reverse its direction, and cut very long words.

    Quoted text is cut at 80 characters, and the middle of a line longer than 320 is left out; statements stay whole.
    What may be a secret in a URL is hidden.

    >>> print(printable("a\x1b[31m\u202eb\nc"), printable("y" * 500))
    a\x1b[31m\u202eb\nc yyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyyy...
    >>> print(printable(f"a: '{'many words ' * 50}' is long; cut it"))
    a: 'many words many words many words many words many words many words many word...' is long; cut it
    >>> shown = printable("many words " * 500 + "; give fewer")
    >>> len(shown), shown[-18:]
    (313, 'words ; give fewer')
    """
    if not text.startswith(STATEMENT):
        text = hide_secrets(text)
        text = re.sub(r"(?<![\w'])'([^'\n]{79,})'(?!\w)", _cut, text)
        text = re.sub(r"(\S{40})\S{260,}", r"\1...", text)
        if len(text) > _LONGEST:
            text = f"{text[: _LONGEST - 125].rsplit(' ', 1)[0]} ... {text[-120:].split(' ', 1)[-1]}"
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    return "".join(repr(c)[1:-1] if unicodedata.category(c) in hidden else c for c in text)


def _cut(found: re.Match[str]) -> str:
    """Cut quoted text, but no path: a user needs all of it."""
    is_path = "/" in found[1] and not re.search(r"\s", found[1])
    return found[0] if is_path else quoted(found[1], _LONGEST_QUOTE - 2)


@dataclass(frozen=True, order=True)
class Problem:
    """One mistake in one place of a file (lines and columns count from 1; 0 means the whole file)."""

    file: str
    line: int
    column: int
    message: str

    def __str__(self) -> str:
        place = f"{self.file}:{self.line}:{self.column}" if self.line else self.file
        return printable(f"{place}: {self.message}")


class ScdgenError(Exception):
    """Base of all errors of this package: ``place: what; fix``, and maybe more lines. Its text is made here alone.

    >>> error = UsageError("is there already", option="--out", value="a.yml", fix="name another file")
    >>> str(error), error.option, error.place
    ('--out a.yml: is there already; name another file', '--out', '--out a.yml')
    """

    exit_status = 3
    """The exit status of a command that ends with it."""

    def __init__(
        self,
        message: str | Iterable[str] = "",
        *,
        place: str | None = None,
        fix: str = "",
        option: str | None = None,
        value: object = None,
        values: Iterable[str] = (),
    ):
        """Describe an error by the attributes below.

        ``message`` is what is wrong, or lines of which the first says it: a line break within one is of a user's text,
        and is escaped. The option may have a name, as in ``--param since``, and a ``value``; both are the default of
        ``place``.
        """
        lines = (message,) if isinstance(message, str) else tuple(message)
        if place is None:
            place = "" if option is None else str(option) if value is None else f"{option} {value}"
        self.what = lines[0] if lines else ""
        """What is wrong, without place and fix."""
        self.place = place
        """Where it is wrong, such as a table, or a file and a line; empty if it is said in :attr:`what`."""
        self.fix = fix
        """What to do about it; empty if it is said in :attr:`what`."""
        self.option = option and option.partition(" ")[0]
        """The option of the command line that is wrong, if any, without a name that follows it."""
        self.values = tuple(values)
        """The parts of the text that are values of rows."""
        first = f"{place}: {self.what}" if place else self.what
        self.lines = (f"{first}; {fix}" if fix else first, *lines[1:])
        """The text, a line each."""
        super().__init__("\n".join(self.lines))


class SpecError(ScdgenError):
    """One or more mistakes in a spec, found before anything is sent to Spark."""

    exit_status = 1

    def __init__(self, problems: Iterable[Problem] | str):
        if isinstance(problems, str):
            problems = [Problem("spec", 0, 0, problems)]
        self.problems = tuple(sorted(set(problems)))
        super().__init__(map(str, self.problems))

    def __reduce__(self) -> tuple[type[SpecError], tuple[tuple[Problem, ...]]]:
        """Pickle the problems instead of their text."""
        return type(self), (self.problems,)


class DataError(ScdgenError):
    """The data breaks a rule of the contract. Nothing was written.

    ``rule`` is the rule's name, ``count`` how many rows (or keys) break it, ``sample`` one of them as JSON text.
    """

    exit_status = 1

    def __init__(
        self, message: str | Iterable[str], rule: str = "", count: int | None = None, sample: str | None = None,
        **parts: Any,
    ):  # fmt: skip
        """Describe an error; ``parts`` are those of :class:`ScdgenError`."""
        self.rule, self.count, self.sample = rule, count, sample
        super().__init__(message, **parts)


class UsageError(ScdgenError):
    """A call with wrong arguments: a missing param, an unknown file."""

    exit_status = 2


class EngineError(ScdgenError):
    """Spark, Delta, Java or the file system failed."""


def line_and_status(error: Exception, kept: bool = False) -> tuple[str, int]:
    """Return the message of an error and the exit status of the command.

    ``kept``: for a place that keeps it for others, and shows no values of rows by default.
    """
    hidden = hides_values(kept)
    if isinstance(error, ScdgenError):
        return "\n".join(_show(line, error, hidden) for line in error.lines), error.exit_status
    if isinstance(error, OSError) and error.errno is not None:
        return printable(of_system(error)), EngineError.exit_status
    text = "…" if hidden else (str(error).splitlines() or ["no reason given"])[0]
    return printable(f"scdgen: {type(error).__name__}: {text}; {DEBUG}"), EngineError.exit_status


def line_without_fix(error: ScdgenError) -> str:
    """Return the place of an error and what is wrong, for a line that says itself what follows."""
    what = f"{error.place}: {error.what}" if error.place else error.what
    return _show(what, error, hides_values())


def _show(line: str, error: ScdgenError, hidden: bool) -> str:
    for value in sorted(filter(None, error.values), key=len, reverse=True) if hidden else ():
        line = line.replace(value, "…")
    return printable(line)


_VALUES: dict[str, str | None] = {"given": None}


def choose_values(kind: str | None) -> None:
    """Whether messages have values of rows from now on: ``show``, ``hide``, or ``None``, only those that none keeps."""
    _VALUES["given"] = kind


def hides_values(kept: bool = False) -> bool:
    """Whether a place shows no values of rows; ``kept`` as in :func:`line_and_status`."""
    return _VALUES["given"] == "hide" or (kept and _VALUES["given"] is None)


def find_values(message: str) -> tuple[str, ...]:
    """Find what may be a value of a row in a message whose values are not known: all from the first quote to the last.

    >>> find_values('a.t: id is NULL, such as {"id": 1}; fix it'), find_values("'x' is no 'INT' (such as key id=1)")
    (('{"id": 1}',), ("'x' is no 'INT'", 'key id=1'))
    """
    return tuple(re.findall(r"'.*'|\{.*\}|\".*\"|\bkey \w+=[^)]*", message))


NO_UTF8 = "is not UTF-8 text; save it as UTF-8"
DEBUG = "run again with --debug for all of it"
_ELSEWHERE = "remove it, or name another place"
_RIGHTS = "ask for the right to read and write there, or name another place"
# System error -> its text, and the fix.
_SYSTEM = {
    errno.EACCES: ("permission is denied", _RIGHTS),
    errno.EPERM: ("permission is denied", _RIGHTS),
    errno.EROFS: ("the disk is read-only", "name another place"),
    errno.ENOSPC: ("no space is left on the disk", "free some and run again"),
    errno.EDQUOT: ("the quota of the disk is used up", "free some space and run again"),
    errno.EEXIST: ("a file is where a folder should be", _ELSEWHERE),
    errno.ENOTDIR: ("a file is where a folder should be", _ELSEWHERE),
    errno.EISDIR: ("a folder is where a file should be", _ELSEWHERE),
    errno.ENAMETOOLONG: ("the name is too long", "give a shorter one"),
    errno.EMFILE: ("too many files are open", "raise the limit (ulimit -n)"),
}


def of_system(error: OSError, place: object = None) -> str:
    """Describe a system error on one line: the place, the cause, the fix.

    >>> of_system(OSError(errno.ENOSPC, "No space left on device", "out/merge.sql"))
    'out/merge.sql: no space is left on the disk; free some and run again'
    """
    _, fix = _SYSTEM.get(error.errno or 0, ("", DEBUG))
    return f"{place or error.filename or 'the output'}: {cause_of_system(error)}; {fix}"


def cause_of_system(error: OSError) -> str:
    """Describe the cause of a system error alone."""
    return _SYSTEM.get(error.errno or 0, (error.strerror or str(error), ""))[0]


def nearest(word: str, names: Iterable[str]) -> str:
    """Return a hint with the most similar of ``names``, or an empty text.

    >>> nearest("efective_at", ["effective_at", "where"])
    "; did you mean 'effective_at'?"
    >>> nearest("zzz", ["effective_at"])
    ''
    """
    if len(word) > _LONGEST_QUOTE:
        return ""  # no name is as long, and to compare it takes long
    spelled = {name.lower(): name for name in names}
    found = difflib.get_close_matches(word.lower(), spelled, n=1, cutoff=0.6)
    return f"; did you mean '{spelled[found[0]]}'?" if found else ""


def describe_one_name(name: str, fix: str = "give --source-option sep='{}'") -> str | None:
    """Describe the header of a CSV that is a single name, if a separator would make several of it, and the fix.

    >>> describe_one_name("id;name", "set it in source.options.sep")
    "the header is a single name, 'id;name'; ';' looks like the separator; set it in source.options.sep"
    >>> describe_one_name("id")
    """
    found = re.search(r"[;,|\t^~]", name)
    if found is None:
        return None
    character = found[0].replace("\t", "\\t")
    what = f"the header is a single name, {quoted(name)}; '{character}' looks like the separator"
    return f"{what}; {fix.format(character)}"


def quoted(text: str, width: int = 60) -> str:
    r"""Quote a value for a message: on one line, cut to ``width`` characters.

    >>> print(quoted("a\nb"), quoted("x" * 70, width=5))
    'a\nb' 'xx...'
    """
    text = text.replace("\n", "\\n").replace("\r", "\\r").replace("\t", "\\t")
    return f"'{text if len(text) <= width else text[: width - 3] + '...'}'"
