"""The layout of finished SQL: templates hold no line lengths and no indents that count.

Only the white space between tokens is decided here; tokens and comments stay as they are. A clause begins a line. A
list, a condition, a CASE, a call or a window is on one line if it fits there, else on several, indented by four.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import ClassVar

from scdgen.sql.tokens import tokens

WIDTH = 120
_BY = 4
_QUERY = re.compile(
    r"(SELECT( DISTINCT)?|FROM|WHERE|(GROUP|ORDER|SORT|DISTRIBUTE|CLUSTER) BY|HAVING|QUALIFY|WINDOW|LIMIT|LATERAL VIEW"
    r"|((INNER|CROSS|(LEFT|RIGHT|FULL)( OUTER| SEMI| ANTI)?) )?JOIN|(UNION|EXCEPT|INTERSECT)( ALL)?)(?= |$)"
)
_MERGE = re.compile(r"(ON|WHEN( NOT)? MATCHED|UPDATE SET|INSERT|VALUES)(?= |$)")
_CREATE = re.compile(
    r"(USING|PARTITIONED BY|CLUSTER BY|TBLPROPERTIES|COMMENT|LOCATION|RETURNS TABLE|RETURN|WITH|SELECT)(?= |$)"
)
_UPDATE = re.compile(r"(UPDATE|SET|WHERE)(?= |$)")
_WINDOW = re.compile(r"(PARTITION BY|ORDER BY|ROWS|RANGE)(?= |$)")
_LISTS = re.compile(r"SELECT|(UPDATE )?SET|WINDOW|.* BY")
_COMPARED = ("= ", "<=> ", "<> ", "< ", "<= ", "> ", ">= ", "IS DISTINCT FROM ", "IS NOT DISTINCT FROM ")
# What separates the parts of a list, and between which words it separates nothing.
_SEPARATORS = (",", "AND")
_OPENS = ("(", "SELECT", "DISTINCT", "SET", "WHERE", "ON", "WHEN", "HAVING")
_CLOSES = (
    *(")", ";", "", "THEN", "FROM", "WHERE", "GROUP BY", "WINDOW", "ORDER BY", "DISTRIBUTE BY", "UNION"),
    *("ROWS", "RANGE", "WHEN", "HAVING", "LIMIT", "LATERAL", "SELECT"),
)
_COMPUTES = {*("IS", "NOT", "AND", "OR", "IN", "BETWEEN", "<", "<=", ">", ">=", "<>", "+", "/", "||")}  # a value
# A line that begins so ends an expression, so that what follows stays on it.
_ENDS = (")", "END", "IGNORE NULLS", "OVER")


@lru_cache(maxsize=4096)
def _upper(text: str) -> str:
    return " ".join(text.upper().split())


@dataclass(slots=True)
class Word:
    """A token, which a comment may follow at the end of its line."""

    text: str
    above: Sequence[str] = ()
    """The comments on lines of their own before it."""
    beside: str = ""
    """The comment behind it."""
    glued: bool = False
    """Whether no white space is before it."""
    upper: str = field(init=False)
    """The text in upper case, each white space one blank; it is asked for often."""
    line: str = field(init=False)
    """All words on one line, or this one alone."""
    start: int = 0
    """Where it begins in the line."""
    commented: int = 0
    """How many comments are before it."""

    def __post_init__(self) -> None:
        """Keep the text in upper case."""
        self.upper, self.line = _upper(self.text), self.text

    @property
    def first(self) -> Word:
        """Return the word itself."""
        return self

    last = first
    is_query: ClassVar[bool] = False


@dataclass(slots=True)
class Group:
    """What is in parentheses, or from CASE to END."""

    first: Word
    items: list[Word | Group]
    last: Word
    upper: str = ""
    """Nothing: a group has no keyword of its own."""

    @property
    def is_query(self) -> bool:
        """Whether it is a subquery."""
        return bool(self.items) and self.items[0].upper in ("SELECT", "WITH", "FROM")


Item = Word | Group
Items = list[Item]


@lru_cache(maxsize=64)
def lay_out(text: str) -> str:
    """Lay out the statements of a file; kept, as most files of a spec are the same for each of its batches.

    >>> print(lay_out("SELECT  a\\n FROM t ; -- all\\n-- Why.\\nSET VARIABLE b = (SELECT MIN(c)\\n FROM t) ;"), end="")
    SELECT a FROM t; -- all
    <BLANKLINE>
    -- Why.
    SET VARIABLE b = (SELECT MIN(c) FROM t);
    """
    words, rest = _read(text)
    words = _drop_strays(words)
    _line_up(words)
    if not words:
        return text.strip() + "\n"
    statements: list[list[Word]] = [[]]
    for word in words:
        statements[-1].append(word)
        if word.text == ";":
            statements.append([])
    laid = list[str]()
    for statement in filter(None, statements):
        items = _nest(iter(statement))
        end = items.pop() if statement[-1].text == ";" else Word("")
        if not items or (_words(items).startswith(("WITH", "MERGE")) and not any(item.is_query for item in items)):
            return text.strip() + "\n"  # which the gate refuses
        above, text = _above(items[0], 0), _statement(items) + _text([end])
        is_declared = bool(laid) and laid[-1].rpartition("\n")[2].startswith("DECLARE")
        if is_declared and not above and text.startswith("SET VARIABLE"):
            laid[-1] += f"\n{text}"  # the variable's value
        else:
            laid.append(above + text)
    return "\n\n".join([*laid, *filter(None, [rest])]) + "\n"


def _read(text: str) -> tuple[list[Word], str]:
    """Return the tokens with their comments, and the comments behind the last one."""
    found = tokens(text)
    words, end = list[Word](), 0
    for token in found:
        if token.start < end:  # sqlglot reads 1.5D as three tokens at one place
            continue
        above, gap = tuple[str, ...](), text[end : token.start]
        if gap and not gap.isspace():
            beside, gap = _cut(gap, bool(words))
            if words:
                words[-1].beside = beside
            above = tuple(line for line, _ in groupby(line.strip() for line in gap.strip().splitlines()))
            if above and gap.rstrip(" ").endswith("\n\n"):
                above = (*above, "")
        words.append(Word(text[token.start : token.end + 1], above, glued=token.start == end))
        end = token.end + 1
    beside, gap = _cut(text[end:], bool(words))
    if words:
        words[-1].beside = beside
    return words, gap.strip()


def _drop_strays(words: list[Word]) -> list[Word]:
    """Leave out a comma or an AND with nothing before or after it: a template may leave out any part of a list.

    >>> lay_out("SELECT , a,, b, FROM t WHERE AND c AND (d AND) AND")
    'SELECT a, b\\nFROM t\\nWHERE c AND (d)\\n'
    """
    found = list[Word]()
    for word in [*words, Word("")]:
        while found and found[-1].upper in _SEPARATORS and word.upper in (found[-1].upper, *_CLOSES):
            word.above = (*found.pop().above, *word.above)
        if word.upper not in _SEPARATORS or (found and found[-1].upper not in _OPENS):
            found.append(word)
    return found[:-1]


def _cut(gap: str, follows: bool) -> tuple[str, str]:
    line, _, more = gap.partition("\n")
    return (line.strip(), more) if follows and "--" in line else ("", gap)


def _nest(words: Iterator[Word], opened: str = "") -> Items:
    """Group words by parentheses and by CASE … END."""
    items: Items = []
    for word in words:
        is_name = word.text != "(" and bool(items) and items[-1].upper in (".", "AS")  # such as a column `end`
        if word.upper in ("(", "CASE") and not is_name:
            inner = _nest(words, word.upper)
            if inner and inner[-1].upper == (")" if word.text == "(" else "END"):
                items.append(Group(word, inner, inner.pop().first))
            else:  # never closed, which the gate refuses
                items += [word, *inner]
            continue
        items.append(word)
        if (opened, word.upper) in (("(", ")"), ("CASE", "END")) and not is_name:
            break
    return items


def _line_up(words: Sequence[Word]) -> None:
    """Put all words on one line, of which :func:`_text` is a slice."""
    pieces, at, commented, before = list[str](), 0, 0, Word("")
    for word in words:
        commented += bool(before.beside or word.above)
        if before.text and not word.glued and not before.text.endswith("(") and word.text not in (")", ","):
            pieces.append(" ")
            at += 1
        pieces.append(word.text)
        word.start, word.commented = at, commented
        at += len(word.text)
        before = word
    line = "".join(pieces)
    for word in words:
        word.line = line


def _text(items: Sequence[Item]) -> str:
    """The text on one line, or one that fits no line if a comment is within."""
    if not items:
        return ""
    first, last = items[0].first, items[-1].last
    if first.commented != last.commented:
        return "\n"
    text = first.line[first.start : last.start + len(last.text)]
    return f"{text} {last.beside}" if last.beside else text


def _fits(text: str, column: int, tail: int = 0) -> bool:
    return "\n" not in text and column + len(text) + tail <= WIDTH


def _pad(by: int) -> str:
    return "\n" + " " * by


def _above(item: Item, by: int) -> str:
    """Take the comments above an item, each a line."""
    lines, item.first.above = item.first.above, ()
    return "".join(line + (_pad(by) if line else "\n") for line in lines)


def _words(items: Sequence[Item], place: int = 0) -> str:
    """The words from a place on to the next group, at most four."""
    found = []
    for item in items[place : place + 4]:
        if isinstance(item, Group):
            break
        found.append(item.upper)
    return " ".join(found)


def _length(items: Sequence[Item], name: str) -> int:
    """How many items have the words of a name; a token may be two words."""
    return next(n for n in range(1, len(items) + 1) if len(_words(items[:n])) >= len(name))


@lru_cache
def _list_words(begins: re.Pattern[str]) -> frozenset[str]:
    """The words of a pattern, one of which begins what it matches."""
    return frozenset(re.findall(r"[A-Z]+", begins.pattern))


def _split(items: Items, begins: re.Pattern[str]) -> list[tuple[str, Items]]:
    """Split at the words that begin a clause: (these words, all items of the clause)."""
    found: list[tuple[str, Items]] = []
    after, known = 0, _list_words(begins)
    for place, item in enumerate(items):
        may_begin = place >= after and item.upper.partition(" ")[0] in known
        head = begins.match(_words(items, place)) if may_begin else None
        name = head[0] if head else ""
        if name in ("LEFT", "RIGHT", "WINDOW", "COMMENT") and isinstance(items[min(place + 1, len(items) - 1)], Group):
            name = ""
        if name and _words(items[max(place - 2, 0) : place]).endswith(("IS DISTINCT", "NOT DISTINCT", ".")):
            name = ""
        if name or not found:
            after = place + _length(items[place:], name) if name else 0
            found.append((name, []))
        found[-1][1].append(item)
    return found


def _statement(items: Items, by: int = 0) -> str:
    """A statement, or a query with each clause on a line of its own; SELECT and FROM alone are on one if they fit."""
    first = _words(items)
    if first.startswith("WITH"):
        return _with(items, by)
    if first.startswith("MERGE"):
        return _merge(items)
    if first.startswith("CREATE"):
        return _create(items)
    if first.startswith("UPDATE"):
        line, clauses = _text(items), _split(items, _UPDATE)
        return line if _fits(line, by, 1) else "\n".join(_clause(name, clause, by) for name, clause in clauses)
    if first.startswith("SET"):
        place = _find(items, "=") + 1
        head = _text(items[:place])
        return f"{head} {_expression(items[place:], by, len(head) + 1, 1)}"
    if not first.startswith(("SELECT", "FROM")) and first:
        return _expression(items, by, by)
    text, last = "", ""
    clauses = _split(items, _QUERY)
    for place, (name, clause) in enumerate(clauses):
        at = by + _BY if name == "LATERAL VIEW" else by
        above, line = _above(clause[0], at), _clause(name, clause, at)
        is_whole = place + 1 == len(clauses) or clauses[place + 1][0].startswith(("UNION", "EXCEPT", "INTERSECT"))
        if name == "FROM" and is_whole and last.startswith("SELECT") and not above and _fits(f"{last} {line}", by, 1):
            text += f" {line}"
        else:
            text += (_pad(at) if text else "") + above + line
        last = line
    return text


def _with(items: Items, by: int) -> str:
    text, place = "WITH ", 1
    more = True
    while more and any(item.is_query for item in items[place:]):
        end = next(n for n in range(place, len(items)) if items[n].is_query)
        more = _words(items, end + 1).startswith(",")
        text += _above(items[place], by) + _text(items[place:end]) + " " + _group(items[end], by, broken=True)
        text += (_text(items[end + 1 : end + 2]) if more else "") + _pad(by)
        place = end + 1 + more
    if place == len(items):
        return text.rstrip()
    above, line = _above(items[place], by), _text(items[place:])
    return text + above + (line if _fits(line, by, 1) else _statement(items[place:], by))


def _merge(items: Items) -> str:
    using = next(n for n, item in enumerate(items) if item.is_query)
    text = f"{_text(items[:using])} {_group(items[using], 0, broken=True)} "
    whens = list[tuple[str, Items]]()
    for name, clause in _split(items[using + 1 :], _MERGE):
        if whens and whens[-1][0].startswith("WHEN") and not name.startswith("WHEN"):
            whens[-1][1].extend(clause)  # what it does
        else:
            whens.append((name, clause))
    for name, clause in whens:
        at = _BY if name == "ON" else 0
        text += (_pad(at) if name else "") + _above(clause[0], at)
        text += _when(clause) if name.startswith("WHEN") else _clause(name, clause, at)
    return text


def _when(items: Items) -> str:
    line, then = _text(items), _find(items, "THEN")
    acts = _split(items[then + 1 :], _MERGE)
    if _fits(line, 0, 1) and len(acts) == 1:
        return line
    head = _text(items[: then + 1])
    text, by = "", 0
    if not _fits(head, 0):
        text, head, by = _expression(items[:then], 0, 0) + _pad(_BY), "THEN", _BY
    (name, first), *rest = acts
    text += _clause(name, first, by, f"{head} ")
    for name, act in rest:
        is_open = text.endswith(_pad(by) + ")")
        text = text[:-1] + _clause(name, act, by, ") ") if is_open else text + _pad(_BY) + _clause(name, act, _BY)
    return text


def _create(items: Items) -> str:
    """CREATE TABLE, with a line for each column and property; a view or a function, with its query below."""
    text = ""
    for name, clause in _split(items, _CREATE):
        text += ("\n" if text else "") + _above(clause[0], 0)
        if name in ("SELECT", "WITH"):
            return text + _statement(items[next(n for n, item in enumerate(items) if item is clause[0]) :])
        last = clause[-1]
        if isinstance(last, Group) and name in ("", "TBLPROPERTIES") and not _words(items).endswith("FUNCTION"):
            text += f"{_text(clause[:-1])} {_group(last, 0, broken=True, each=True)}"
        else:
            text += _expression(clause, 0, 0)
    return text


def _clause(name: str, items: Items, by: int, before: str = "") -> str:
    """A clause, with what is before it on its first line."""
    count = _length(items, name) if name else 0
    head, body = before + _text(items[:count]), items[count:]
    if not body or not name:
        return before + _text(items)
    column = by + len(head) + 1
    if _LISTS.fullmatch(name):
        return head + _list(body, by, column, calls=name == "SELECT")
    if name in ("INSERT", "VALUES"):
        return head + " " + _each(body, by, column, 1)
    place = _find(body, "ON")
    if "JOIN" in name and place < len(body) and not _fits(_text(body), column, 1):
        text = f"{head} {_expression(body[:place], by, column)}{_pad(by + _BY)}{_above(body[place], by + _BY)}ON "
        return text + _expression(body[place + 1 :], by + _BY, by + _BY + 3)
    return f"{head} {_expression(body, by, column)}"


def _find(items: Sequence[Item], word: str) -> int:
    """The place of a word, behind the items if they lack it."""
    return next((place for place, item in enumerate(items) if item.upper == word), len(items))


def _parts(items: Items) -> list[Items]:
    """The parts of a list, each with its comma."""
    parts: list[Items] = [[]]
    for item in items:
        parts[-1].append(item)
        if item.upper == ",":
            parts.append([])
    return [part for part in parts if part]


def _list(items: Items, by: int, column: int, calls: bool) -> str:
    """A list on the line of its word, or a line for each part; three computed columns have lines of their own."""
    parts, line = _parts(items), _text(items)
    computed = sum(any(isinstance(item, Group) for item in part) for part in parts)
    if _fits(line, column, 1) and not (calls and len(parts) > 1 and computed > 2):
        return f" {line}"
    if len(parts) == 1 and not items[0].first.above and (calls or not _fits(line, by + _BY, 1)):
        return " " + _part(items, by, column)
    parts = _filled(parts, by + _BY)
    return "".join(_pad(by + _BY) + _above(part[0], by + _BY) + _part(part, by + _BY, by + _BY) for part in parts)


def _part(part: Items, by: int, column: int) -> str:
    more = part[-1].upper == ","
    value = part[:-1] if more else part
    is_window = _words(value, 1).startswith("AS") and isinstance(value[-1], Group)
    lay = _each if is_window else _expression
    return lay(value, by, column, 1) + (_text(part[-1:]) if more else "")


def _group(group: Item, by: int, column: int = 0, tail: int = 0, broken: bool = False, each: bool = False) -> str:
    """What is in parentheses, or a CASE; ``each``: every part of a list has a line."""
    line = _text([group])
    if not isinstance(group, Group) or (not broken and _fits(line, column, tail)):
        return line
    inside, below = by + _BY, "".join(_pad(by + _BY) + line for line in group.last.above)
    if group.first.upper == "CASE":
        body = _case(group.items, by)
        return body + below + _pad(by) + _text([Word(group.last.text, beside=group.last.beside)])
    above = _above(group.items[0], inside) if group.items else ""
    if _operators(group.items, "||") and len(_parts(group.items)) == 1 and not above + below:
        text = f"({_expression(group.items, by, column + 1, tail + 1)})"
        first, _, last = text.partition("\n")
        if _fits(first, column) and _fits(last.rsplit("\n", 1)[-1], 0, tail):
            return text
    if group.is_query:
        body = _statement(group.items, inside)
    elif _WINDOW.match(_words(group.items)):
        body = _pad(inside).join(_clause(name, part, inside) for name, part in _split(group.items, _WINDOW))
    else:
        parts = _parts(group.items)
        body, rows = _text(group.items), parts if each else _rows(parts, inside)
        if has_count := len(rows) > 1 and _is_count(rows[0]):  # how many rows STACK has
            group.first.text += _text(rows.pop(0))
        if each or has_count or not _fits(body, inside):
            body = _pad(inside).join(_above(row[0], inside) + _part(row, inside, inside) for row in rows)
    end = _text([Word(")", beside=group.last.beside)])
    return _text([group.first]) + _pad(inside) + above + body + below + _pad(by) + end


def _filled(parts: list[Items], by: int, calls: bool = False) -> list[Items]:
    """The parts of a list: as many names on a line as fit, and each computed value on a line of its own."""
    lines, is_full = list[Items](), True
    for part in parts:
        words = {item.upper for item in part}
        is_computed = any(isinstance(item, Group) or item.above or item.beside for item in part)
        is_computed = not calls and (is_computed or bool(words & _COMPUTES) or {"=", "AS"} <= words)
        if is_full or is_computed or not _fits(_text([*lines[-1], *part]), by, part[-1].upper != ","):
            lines.append([])
        lines[-1] = [*lines[-1], *part]
        is_full = is_computed
    return lines


def _is_count(part: Items) -> bool:
    return len(part) == 2 and part[0].upper.isdigit()


def _rows(parts: list[Items], by: int) -> list[Items]:
    """The arguments of STACK, which begin with the number of its rows: each on lines of its own; others fill lines."""
    count = int(parts[0][0].upper) if parts and _is_count(parts[0]) else 0
    if not count or (len(parts) - 1) % count:
        return _filled(parts, by)
    size = (len(parts) - 1) // count
    found = parts[:1]
    for row in (parts[at : at + size] for at in range(1, len(parts), size)):
        found += _filled(row, by, calls=True)
    return found


def _case(items: Items, by: int) -> str:
    branches: list[Items] = [[]]
    for item in items:
        if item.upper in ("WHEN", "ELSE"):
            branches.append([])
        branches[-1].append(item)
    text, inside = "CASE" + (f" {_text(branches[0])}" if branches[0] else ""), by + _BY
    for branch in branches[1:]:
        text += _pad(inside) + _above(branch[0], inside)
        line, then = _text(branch), _find(branch, "THEN")
        if _fits(line, inside):
            text += line
        elif then == len(branch):
            text += "ELSE " + _expression(branch[1:], inside, inside + 5)
        else:
            text += "WHEN " + _expression(branch[1:then], inside, inside + 5) + _pad(inside + _BY)
            text += _above(branch[then], inside + _BY)
            text += "THEN " + _expression(branch[then + 1 :], inside + _BY, inside + _BY + 5)
    return text


def _operators(items: Sequence[Item], word: str) -> list[int]:
    """The places of an operator outside of parentheses; the AND of a BETWEEN is none."""
    found, ranges = [], 0
    for place, item in enumerate(items):
        ranges += item.upper == "BETWEEN"
        if place and item.upper == word:
            if word == "AND" and ranges:
                ranges -= 1
            else:
                found.append(place)
    return found


def _expression(items: Items, by: int, column: int, tail: int = 0) -> str:
    """An expression that begins at a column of a line indented by ``by``; ``tail`` characters follow it."""
    line = _text(items)
    if not items or _fits(line, column, tail):
        return line
    # 1. The name given to it.
    for place in _operators(items, "AS")[-1:]:
        name = _text(items[place:])
        text = _expression(items[:place], by, column, len(name) + 1 + tail)
        return f"{text} {name}" if _ends(text, len(name) + 1 + tail) else text + _pad(by + _BY) + name
    # 2. The weakest operator, before each of which the line ends.
    for word in ("OR", "AND", "||"):
        places = _operators(items, word)
        if not places:
            continue
        # What continues it below is no other part.
        more = _BY * any(f"{_words(items, n)} ".startswith(_COMPARED) for n in range(1, places[0]))
        text = _expression(items[: places[0]], by + more, column)
        for place, end in zip(places, [*places[1:], len(items)], strict=True):
            line = " " + _text(items[place:end])
            begun = len(text.rpartition("\n")[2]) + (0 if "\n" in text else column)
            if word == "||" and _fits(line, begun, 0 if end < len(items) else tail):
                text += line
                continue
            text += _pad(by + _BY) + _above(items[place], by + _BY) + _text(items[place : place + 1]) + " "
            text += _expression(items[place + 1 : end], by + _BY, by + _BY + 1 + len(word))
        return text
    # 3. A comparison: on two lines, or with the group on its right on several.
    for place in range(1, len(items)):
        if f"{_words(items, place)} ".startswith(_COMPARED):
            left, right = _expression(items[:place], by, column), items[place:]
            line = _text(right)
            if "\n" in left and _ends(left, len(line) + 1 + tail):
                return f"{left} {line}"
            if _fits(left, column, 16) and not _fits(line, by + _BY, tail) and isinstance(items[-1], Group):
                return f"{left} {_each(right, by, column + len(left) + 1, tail)}"
            return left + _pad(by + _BY) + _windowed(right, by + _BY, by + _BY, tail)
    return _windowed(items, by, column, tail)


def _ends(text: str, more: int) -> bool:
    """Whether what follows goes on the last line of a text."""
    last = text.rsplit("\n", 1)[-1]
    return "\n" not in text or (len(last) + more <= WIDTH and last.lstrip().startswith(_ENDS))


def _windowed(items: Items, by: int, column: int, tail: int) -> str:
    """An expression that may be a window function: its window is on a second line, or on several."""
    line = _text(items)
    if _fits(line, column, tail):
        return line
    for place in _operators(items, "OVER")[:1]:
        start = place - 2 * _words(items, max(place - 2, 0)).startswith("IGNORE NULLS")
        left, right = _text(items[:start]), _text(items[start:])
        if _fits(left, column) and _fits(right, by + _BY, tail):
            return left + _pad(by + _BY) + right
        left = _each(items[:start], by, column, 6)
        at = len(left.rsplit("\n", 1)[-1]) + 1 + (0 if "\n" in left else column)
        return f"{left} {_each(items[start:], by, at, tail)}"
    return _each(items, by, column, tail)


def _each(items: Items, by: int, column: int, tail: int) -> str:
    """The items one after the other; a group that does not fit is on several lines."""
    text = ""
    for number, item in enumerate(items):
        word = item.first
        glue = " " if text and not word.glued and word.text != "," else ""
        if text and word.above:
            text, glue = text + _pad(by + _BY) + _above(item, by + _BY), ""
        at = len(text.rsplit("\n", 1)[-1]) + (0 if "\n" in text else column) + len(glue)
        if isinstance(item, Group):
            rest = _text(items[number + 1 :])
            text += glue + _group(item, by, at, tail + (len(rest) + 1 if rest and "\n" not in rest else 0))
        else:
            text += glue + _text([item])
            if item.beside and number + 1 < len(items):
                text += _pad(by + _BY)
    return text
