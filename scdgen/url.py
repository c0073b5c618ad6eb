"""URLs as messages show them: without users and passwords, queries, and the parameters of Spark Connect."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

HIDDEN = "***"

_SCHEME = r"\b[A-Za-z][\w+.-]*://"
# A name before the @ is a container in abfss://container@account, but a user or a token in a URL of these schemes.
_USER = re.compile(
    rf"""({_SCHEME})[^\s/@:'"]*:(?!\d+(?:[/?;#\s]|$))[^\s@'"]*@|(\b(?:https?|sc)://)[^\s/@'"]*@""", re.IGNORECASE
)
_GIVEN = re.compile(rf"""({_SCHEME}[^\s'"?;#]*)(?:[?#][^\s'"=/]*=|;\w+=)[^\s'"]*(?<![:;,.)])""")
_SHORTEST = 6  # characters of a secret that is also hidden where it is alone
_known: set[str] = set()


def hide_secrets(text: str) -> str:
    """Hide what may be a secret in the URLs of a text, and those of each :class:`Url` of this process.

    >>> hide_secrets("sc://h:1/;token=a: is gone; see s3a://KEY:SEC/RET@bucket/x.csv, https://spark/x?sig=a&b=c")
    'sc://h:1/***: is gone; see s3a://***@bucket/x.csv, https://spark/x***'
    >>> hide_secrets("abfss://container@account/part-?.csv, hdfs://node:8020/a@b; run again")
    'abfss://container@account/part-?.csv, hdfs://node:8020/a@b; run again'
    """
    text = _USER.sub(lambda found: f"{found[1] or found[2]}{HIDDEN}@", text)
    text = _GIVEN.sub(rf"\g<1>{HIDDEN}", text)
    for secret in _known:
        text = text.replace(secret, HIDDEN)
    return text


@dataclass(frozen=True)
class Url:
    """A URL that an option gives. ``full`` is for the client alone; the text of this object may be printed."""

    full: str = field(repr=False)

    def __post_init__(self) -> None:
        given = re.search(r"[?;#](.*)", self.full, re.DOTALL)
        values = [pair.partition("=")[2] or pair for pair in re.split("[&;]", given[1])] if given else []
        user = re.match(rf"(?:{_SCHEME})?([^/?;#]*)@", self.full)
        values += user[1].split(":") if user else []
        _known.update(value for value in values if len(value) >= _SHORTEST)

    def __str__(self) -> str:
        """Return it without a user, and without all that follows the path.

        >>> str(Url("sftp://user:pw@host/x?api_key=k")), str(Url("SC://h:1;token=t")), str(Url("events.jsonl"))
        ('sftp://***@host/x***', 'SC://h:1***', 'events.jsonl')
        """
        text = re.sub(r"[?;#].*", HIDDEN, self.full, flags=re.DOTALL)
        return hide_secrets(re.sub(rf"^((?:{_SCHEME})?)[^/?;#]*@", rf"\g<1>{HIDDEN}@", text))
