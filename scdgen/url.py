"""URLs as messages show them: without users and passwords, queries, and the parameters of Spark Connect."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

HIDDEN = "***"

# Each of these patterns takes time in proportion to the text: a scheme begins where its characters begin, and what one
# match has looked at, no other begins in.
_SCHEME = r"(?<![\w+.-])[\w+.-]+://"
_SCHEMES = re.compile(_SCHEME)
# After a scheme: a user and a password, but no port.
_PASSWORD = re.compile(r"[^/:]*:(?!\d+[/?;#])")
# A name before the @ is a container in abfss://container@account, but a user or a token in a URL of these schemes.
_OF_USERS = re.compile(r"\b(?:https?|sc)://$", re.IGNORECASE)
_GIVEN = re.compile(rf"""({_SCHEME}[^\s'"?;#]*)((?:[?#][^\s'"=/]*=|;\w+=)[^\s'"]*(?<![:;,.)]))?""")
_SHORTEST = 6  # characters of a secret that is also hidden where it is alone
_known: set[str] = set()


def hide_secrets(text: str) -> str:
    """Hide what may be a secret in the URLs of a text, and those of each :class:`Url` of this process.

    >>> hide_secrets("sc://h:1/;token=a: is gone; see s3a://KEY:SEC/RET@bucket/x.csv, https://spark/x?sig=a&b=c")
    'sc://h:1/***: is gone; see s3a://***@bucket/x.csv, https://spark/x***'
    >>> hide_secrets("abfss://container@account/part-?.csv, hdfs://node:8020/a@b; run again")
    'abfss://container@account/part-?.csv, hdfs://node:8020/a@b; run again'
    """
    if "://" in text:
        *before, last = text.split("@")
        text = "@".join([*map(_hide_user, before), last])
        text = _GIVEN.sub(lambda found: f"{found[1]}{HIDDEN}" if found[2] else found[0], text)
    for secret in _known:
        text = text.replace(secret, HIDDEN)
    return text


def _hide_user(text: str) -> str:
    """Hide the user and the password at the end of a text that an @ follows.

    >>> _hide_user("see s3://a:1/b, s3://key:secret"), _hide_user("sc://token"), _hide_user("abfss://container")
    ('see s3://a:1/b, s3://***', 'sc://***', 'abfss://container')
    """
    word = re.split(r"""[\s'"]""", text)[-1]
    slash = word.rfind("/")
    for scheme in _SCHEMES.finditer(word):
        is_user = slash < scheme.end() and _OF_USERS.search(scheme[0])
        if is_user or _PASSWORD.match(word, scheme.end()):
            return text[: len(text) - len(word) + scheme.end()] + HIDDEN
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
