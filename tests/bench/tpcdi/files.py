"""Files in the formats of TPC-DI, made by this module alone: a seed and a scale factor give the same files everywhere.

``history`` is ten years of customers' actions (Batch1, XML), employees, companies, securities and their quarterly
numbers; two days follow (Batch2, Batch3). A key has at most one action per day; companies, and rows of the two days,
may have several, of which the last counts. Accounts often change on a day on which their customer does.

    python -m tests.bench.tpcdi.files FOLDER [--scale SF] [--seed N]
"""

from __future__ import annotations

import argparse
import datetime as dt
import random
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

DAY = dt.timedelta(days=1)
BEGIN, END = dt.date(2007, 7, 7), dt.date(2017, 7, 7)  # of the actions of Batch1
QUARTERS = [dt.date(year, month, 1) for year in range(1994, 2018) for month in (1, 4, 7, 10)][:94]
# Of a scale factor: actions of ten years, and of one day.
ACTIONS = {"NEW": 1528, "ADDACCT": 1519, "UPDCUST": 434, "UPDACCT": 868, "INACT": 217, "CLOSEACCT": 434}
DAILY = {"NEW": 3.5, "UPDCUST": 1.1, "INACT": 0.4, "ADDACCT": 7.0, "UPDACCT": 1.9, "CLOSEACCT": 1.9}
EMPLOYEES, COMPANIES, SECURITIES = 5000, 500, 800
STATUS = {
    "ACTV": "Active", "CMPT": "Completed", "CNCL": "Canceled", "PNDG": "Pending", "SBMT": "Submitted",
    "INAC": "Inactive",
}  # fmt: skip
INDUSTRY = ("Airlines", "Banks", "Brewing", "Chemicals", "Fishing", "Glass", "Insurance", "Mining", "Paper", "Railways")
RATINGS = ("AAA", "AA+", "AA", "AA-", "A+", "A", "A-", "BBB+", "BBB", "BBB-", "BB+", "BB", "B", "CCC", "CC", "C", "D")
_COUNTRIES = ("United States of America", "Canada", "Norway", "")
_FIRST = ("Ada", "Ben", "Cleo", "Dev", "Elin", "Farid", "Gus", "Hana", "Ivo", "Jon", "Kaja", "Liv", "Mia", "Noor")
_LAST = ("Aas", "Bell", "Costa", "Dahl", "Engh", "Foss", "Grant", "Hope", "Ito", "Juul", "Kern", "Lund", "Moss")
_TOWNS = ("Oslo", "Bergen", "York", "Leeds", "Turin", "Ghent", "Basel", "Graz", "Porto", "Malmo")
_STREETS = ("Mill Lane", "High Street", "Harbour Road", "Park Row", "Station Square")
_SUFFIX = ("Inc", "Ltd", "AS", "& Co", "Group")

NAME = ("C_L_NAME", "C_F_NAME", "C_M_NAME")
ADDRESS = ("C_ADLINE1", "C_ADLINE2", "C_ZIPCODE", "C_CITY", "C_STATE_PROV", "C_CTRY")
PHONES = tuple(tuple(f"C_{part}_{n}" for part in ("CTRY", "AREA", "LOCAL", "EXT")) for n in (1, 2, 3))
EMAILS, TAXES = ("C_EMAIL_1", "C_EMAIL_2"), ("C_LCL_TX_ID", "C_NAT_TX_ID")
# A row of Customer.txt and Account.txt, after the flag and the number of the change.
CUSTOMER = (
    "C_ID", "C_TAX_ID", "C_ST_ID", *NAME, "C_GNDR", "C_TIER", "C_DOB", *ADDRESS, *PHONES[0], *PHONES[1], *PHONES[2],
    *EMAILS, *TAXES,
)  # fmt: skip
ACCOUNT = ("CA_ID", "CA_B_ID", "CA_C_ID", "CA_NAME", "CA_TAX_ST", "CA_ST_ID")
CMP = (15, 3, 60, 10, 4, 2, 4, 8, 80, 80, 12, 25, 20, 24, 46, 150)
SEC = (15, 3, 15, 6, 4, 70, 6, 13, 8, 8, 12)  # and a name of 60, or a number of 10
FIN = (15, 3, 4, 1, 8, 8, 17, 17, 12, 12, 12, 17, 17, 17, 13, 13)  # likewise

Row = dict[str, str]


class Action(NamedTuple):
    """What happens to a customer or an account, with the values that it gives, and those that it leaves behind."""

    at: dt.datetime
    kind: str
    customer: str
    account: str  # "" if it is about the customer alone
    given: Row
    left: tuple[Row, ...]  # full rows: of the customer, of the account


class World:
    """The state of customers and accounts, and the actions that made it."""

    def __init__(self, scale: float, seed: int):
        self.scale, self.seed = scale, seed
        self._random = random.Random(f"actions {seed}")
        self._customers: dict[str, Row] = {}
        self._accounts: dict[str, Row] = {}
        self._of: dict[str, list[str]] = defaultdict(list)  # the open accounts of an active customer
        self._open: list[str] = []  # the active customers
        self._changed: dict[str, dt.date] = {}  # key -> the last day on which it changed
        self._last = ""  # the customer who was changed last
        self.brokers = [row[0] for row in employees(scale, seed) if row[5] == "314"]

    def history(self) -> list[Action]:
        """The actions of ten years, in order."""
        kinds = [kind for kind, number in ACTIONS.items() for _ in range(max(2, round(number * self.scale)))]
        first = [kind for kind in kinds if kind == "NEW"]
        begin, rest = first[: len(first) // 10 + 1], [kind for kind in kinds if kind != "NEW"]
        rest += first[len(begin) :]
        self._random.shuffle(rest)
        span = int((END - BEGIN + DAY).total_seconds()) - 1
        times = sorted(self._random.randrange(span) for _ in kinds)
        start = dt.datetime.combine(BEGIN, dt.time())
        done = [self._act(kind, start + dt.timedelta(seconds=at)) for kind, at in zip(begin + rest, times, strict=True)]
        return sorted((action for action in done if action), key=lambda action: action.at)

    def day(self, day: dt.date) -> list[Action]:
        """The actions of one day; some keys have two."""
        kinds = [kind for kind, number in DAILY.items() for _ in range(max(1, round(number * self.scale)))]
        start = dt.datetime.combine(day, dt.time(9))
        done = [self._act(kind, start + n * dt.timedelta(milliseconds=100)) for n, kind in enumerate(kinds)]
        found = [action for action in done if action]
        for action in [each for each in found if each.kind in {"UPDCUST", "UPDACCT"}][::3]:
            key = f"A{action.account}" if action.account else f"C{action.customer}"
            self._changed[key] = day - DAY
            again = self._update(action.kind, action.at + dt.timedelta(hours=8), action.customer, action.account)
            found.append(again)
        return found

    def _act(self, kind: str, at: dt.datetime) -> Action | None:
        if kind == "NEW":
            return self._open_customer(at)
        for _ in range(50):
            customer, when = self._random.choice(self._open), at
            if self._last and kind in {"UPDACCT", "CLOSEACCT"} and self._random.random() < 0.6:
                # An account of the customer who was changed last, on that day.
                customer = self._last
                when = min(at, dt.datetime.combine(self._changed[f"C{customer}"], dt.time(23)))
            if kind == "ADDACCT":
                return self._open_account(at, customer)
            if kind in {"UPDACCT", "CLOSEACCT"}:
                if accounts := [key for key in self._of[customer] if self._changed[f"A{key}"] < when.date()]:
                    return self._update(kind, when, customer, self._random.choice(accounts))
            elif self._changed[f"C{customer}"] < at.date():
                self._last = customer
                return self._update(kind, at, customer, "")
        return None

    def _open_customer(self, at: dt.datetime) -> Action:
        key = str(len(self._customers))
        row = {"C_ID": key, "C_ST_ID": "ACTV", **self._values(CUSTOMER[3:]), "C_TAX_ID": self._tax_number()}
        self._customers[key] = row
        self._open.append(key)
        self._changed[f"C{key}"] = at.date()
        opened = self._open_account(at, key)
        return Action(at, "NEW", key, opened.account, row | opened.given, (dict(row), *opened.left))

    def _open_account(self, at: dt.datetime, customer: str) -> Action:
        key = str(len(self._accounts))
        row = {"CA_ID": key, "CA_C_ID": customer, "CA_ST_ID": "ACTV", **self._account_values()}
        self._accounts[key] = row
        self._of[customer].append(key)
        self._changed[f"A{key}"] = at.date()
        return Action(at, "ADDACCT", customer, key, dict(row), (dict(row),))

    def _update(self, kind: str, at: dt.datetime, customer: str, account: str) -> Action:
        row = self._accounts[account] if account else self._customers[customer]
        given: Row = {}
        if kind == "INACT":
            row["C_ST_ID"] = "INAC"
            self._open = [each for each in self._open if each != customer]
        elif kind == "CLOSEACCT":
            row["CA_ST_ID"] = "INAC"
            self._of[customer].remove(account)
        elif kind == "UPDACCT":
            values = self._account_values()
            given = {name: values[name] for name in self._random.sample(sorted(values), self._random.randint(1, 2))}
        else:
            groups = (("C_TIER",), ("C_GNDR",), NAME[:1], ADDRESS, ADDRESS[:1], *PHONES, EMAILS[:1], EMAILS[1:], TAXES)
            chosen = [name for group in self._random.sample(groups, 2) for name in group]
            # An element without a value says nothing.
            given = {name: value for name, value in self._values(chosen).items() if value}
        for phone in PHONES:  # is given as a whole, or not
            if phone[2] in given:
                row.update(dict.fromkeys(phone, ""))
            else:
                given = {name: value for name, value in given.items() if name not in phone}
        row.update(given)
        self._changed[f"A{account}" if account else f"C{customer}"] = at.date()
        return Action(at, kind, customer, account, given, (dict(row),))

    def _account_values(self) -> Row:
        draw = self._random
        names = {"CA_NAME": f"{draw.choice(_LAST)} savings {draw.randrange(1000)}", "CA_TAX_ST": draw.choice("012")}
        return {"CA_B_ID": draw.choice(self.brokers), **names}

    def _tax_number(self) -> str:
        return f"{self._random.randrange(1000):03}-{self._random.randrange(100):02}-{self._random.randrange(10000):04}"

    def _values(self, names: Iterable[str]) -> Row:
        """Values for these fields; some are empty, some of a kind that a rule replaces."""
        draw, found = self._random, {}
        for name in names:
            part = name[:6]
            if name == "C_GNDR":
                found[name] = draw.choice(("F", "M", "f", "m", "X", ""))
            elif name == "C_TIER":
                found[name] = draw.choice("1112233339") if draw.random() < 0.98 else ""
            elif name == "C_DOB":
                found[name] = str(dt.date(1930, 1, 1) + draw.randrange(28000) * DAY)
            elif name in TAXES:
                found[name] = draw.choice(tax_ids())
            elif part == "C_CTRY":
                found[name] = draw.choice(_COUNTRIES if name == "C_CTRY" else ("1", "47", ""))
            elif part == "C_AREA":
                found[name] = f"{draw.randrange(100, 1000)}" if draw.random() < 0.8 else ""
            elif part == "C_LOCA":
                found[name] = f"{draw.randrange(100, 1000)}-{draw.randrange(10000):04}" if draw.random() < 0.9 else ""
            elif part == "C_EXT_":
                found[name] = f"{draw.randrange(10000)}" if draw.random() < 0.2 else ""
            elif part == "C_EMAI":
                found[name] = f"{draw.choice(_FIRST)}.{draw.choice(_LAST)}{draw.randrange(99)}@mail.example".lower()
            elif name == "C_ADLINE1":
                found[name] = f"{draw.randrange(1, 300)} {draw.choice(_STREETS)}"
            elif name == "C_ADLINE2":
                found[name] = f"Floor {draw.randrange(1, 9)}" if draw.random() < 0.3 else ""
            elif name == "C_ZIPCODE":
                found[name] = f"{draw.randrange(100000):05}"
            else:
                found[name] = draw.choice({"C_CITY": _TOWNS, "C_STATE_PROV": ("NS", "EW"), "C_L_NAME": _LAST}.get(
                    name, _FIRST))  # fmt: skip
        return found


def tax_ids() -> list[str]:
    """The rates of five countries."""
    return [f"{country}{n}" for country in ("US", "CA", "NO", "UK", "CH") for n in range(1, 7)]


def employees(scale: float, seed: int) -> list[tuple[str, ...]]:
    """Rows of HR.csv; those with the job code 314 are brokers."""
    draw = random.Random(f"employees {seed}")
    found: list[tuple[str, ...]] = []
    for n in range(max(20, round(EMPLOYEES * scale))):
        code = "314" if draw.random() < 0.3 else draw.choice(("11", "223", "534", ""))
        where = (draw.choice(("North", "South", "Harbour", "")), f"OFFICE{draw.randrange(900)}", f"({n % 900}) 555-01")
        found.append((str(n), str(n // 10), draw.choice(_FIRST), draw.choice(_LAST), draw.choice("ABC "), code, *where))
    return found


def fixed(widths: tuple[int, ...], values: Iterable[object], last: str = "") -> str:
    """A line of FINWIRE."""
    return "".join(f"{value!s:<{width}}"[:width] for value, width in zip(values, widths, strict=True)) + last


def finwire(scale: float, seed: int) -> Iterable[tuple[dt.date, str]]:
    """Lines of all quarters, in the order of their days."""
    draw = random.Random(f"finwire {seed}")
    companies = max(4, round(COMPANIES * scale))
    lines: list[tuple[dt.date, str]] = []
    names: list[list[tuple[dt.date, str]]] = []  # of a company: since when it has which name

    def random_day(first: dt.date) -> dt.date:
        return first + draw.randrange((END - first).days) * DAY

    def company(cik: int, name: str, day: dt.date, clock: int) -> None:
        address = (f"{draw.randrange(99)} {draw.choice(_STREETS)}", "", f"{draw.randrange(99999):05}")
        place = (draw.choice(_TOWNS), draw.choice(("North", "South")), draw.choice(_COUNTRIES))
        rating = draw.choice(RATINGS) if draw.random() < 0.95 else "EEE"
        status = "ACTV" if draw.random() < 0.9 else "INAC"
        founded = f"{day - draw.randrange(9000) * DAY:%Y%m%d}" if draw.random() < 0.9 else ""
        head = (f"{day:%Y%m%d}-{clock:06}", "CMP", name, f"{cik:010}", status, f"{draw.randrange(10):02}", rating)
        chief = f"{draw.choice(_FIRST)} {draw.choice(_LAST)}"
        lines.append((day, fixed(CMP, (*head, founded, *address, *place, chief, f"{name}, since {day.year}"))))

    for cik in range(companies):
        day = QUARTERS[0] + draw.randrange(80) * DAY if draw.random() < 0.9 else random_day(QUARTERS[0] + 90 * DAY)
        name = f"{draw.choice(_LAST)} {INDUSTRY[cik % 10]} {draw.choice(_SUFFIX)} {cik}"
        company(cik, name, day, 90000)
        names.append([(day, name)])
    for n in range(max(2, companies * 16 // 500)):  # later records, some of one day with another
        cik = draw.randrange(companies)
        day = random_day(names[cik][-1][0] + DAY)
        if n % 2:
            company(cik, names[cik][-1][1], day, 80000)
        if n % 3 == 0:
            names[cik].append((day, f"{names[cik][-1][1]} Holding"))
        company(cik, names[cik][-1][1], day, 170000)

    def pointer(cik: int, day: dt.date) -> str:
        """The company by its number, or by the name that it has on that day."""
        name = next(name for since, name in reversed(names[cik]) if since <= day)
        return f"{name:<60}" if draw.random() < 0.5 else f"{cik:010}"

    def security(symbol: str, cik: int, day: dt.date) -> None:
        issue = (draw.choice(("COMMON", "PREF_A")), draw.choice(("ACTV", "INAC")), f"Share of {symbol}", "NYSE")
        numbers = (draw.randrange(10**9), f"{day:%Y%m%d}", f"{day:%Y%m%d}", f"{draw.random() * 5:.2f}")
        head = (f"{day:%Y%m%d}-120000", "SEC", symbol)
        lines.append((day, fixed(SEC, (*head, *issue, *numbers), pointer(cik, day))))

    owners = [draw.randrange(companies) for _ in range(max(6, round(SECURITIES * scale)))]
    began = []
    for n, cik in enumerate(owners):
        began.append(min(names[cik][0][0] + draw.randrange(60) * DAY, END))
        security(f"S{n:06}", cik, began[-1])
    for _ in range(max(2, len(owners) * 25 // 800)):
        n = draw.randrange(len(owners))
        # A share may go to another company that is there.
        others = [cik for cik in (owners[n], draw.randrange(companies)) if names[cik][0][0] <= began[n]]
        began[n] = random_day(began[n] + DAY) if began[n] < END - DAY else END
        security(f"S{n:06}", draw.choice(others), began[n])
    for start in QUARTERS:
        for cik, known in enumerate(names):
            posted = start + draw.randrange(20, 80) * DAY
            if known[0][0] > posted or posted > END:
                continue
            numbers = [f"{draw.random() * 10**9:.2f}", f"{draw.random() * 10**8:.2f}", f"{draw.random() * 9:.2f}"]
            more = [
                f"{draw.random() * 8:.2f}",
                f"{draw.random():.2f}",
                *(f"{draw.random() * 10**9:.2f}" for _ in "123"),
            ]
            head = (f"{posted:%Y%m%d}-060000", "FIN", start.year, start.month // 3 + 1, f"{start:%Y%m%d}")
            shares = (draw.randrange(10**9), draw.randrange(10**9))
            lines.append(
                (posted, fixed(FIN, (*head, f"{posted:%Y%m%d}", *numbers, *more, *shares), pointer(cik, posted)))
            )
    return sorted(lines)


def _elements(names: Iterable[str], given: Mapping[str, str], tags: Iterable[str] | None = None) -> str:
    tagged = zip(names, tags or names, strict=True)
    return "".join(f"<{tag}>{given[name]}</{tag}>" for name, tag in tagged if name in given)


def _group(tag: str, text: str) -> str:
    return f"<{tag}>{text}</{tag}>" if text else ""


def xml(action: Action) -> str:
    """An element of CustomerMgmt.xml, on one line."""
    given = {name: value.replace("&", "&amp;") for name, value in action.given.items()}
    marks = ("C_TAX_ID", "C_GNDR", "C_TIER", "C_DOB")
    text = "".join(f' {name}="{given[name]}"' for name in marks if name in given)
    phones = "".join(
        _group(f"C_PHONE_{n}", _elements(phone, given, ("C_CTRY_CODE", "C_AREA_CODE", "C_LOCAL", "C_EXT")))
        for n, phone in enumerate(PHONES, 1)
    )
    contact = _elements(EMAILS, given, ("C_PRIM_EMAIL", "C_ALT_EMAIL")) + phones
    inside = _group("Name", _elements(NAME, given)) + _group("Address", _elements(ADDRESS, given))
    inside += _group("ContactInfo", contact) + _group("TaxInfo", _elements(TAXES, given))
    if action.account:
        tax = f' CA_TAX_ST="{given["CA_TAX_ST"]}"' if "CA_TAX_ST" in given else ""
        account = _elements(("CA_B_ID", "CA_NAME"), given)
        inside += f'<Account CA_ID="{action.account}"{tax}>{account}</Account>'
    head = f'<TPCDI:Action ActionType="{action.kind}" ActionTS="{action.at:%Y-%m-%dT%H:%M:%S}">'
    return f'{head}<Customer C_ID="{action.customer}"{text}>{inside}</Customer></TPCDI:Action>'


def write_actions(folder: Path, actions: Iterable[Action]) -> None:
    """CustomerMgmt.xml."""
    folder.mkdir(parents=True, exist_ok=True)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<TPCDI:Actions xmlns:TPCDI="http://www.tpc.org/tpc-di">\n'
    text = "".join(f"{xml(action)}\n" for action in actions)
    (folder / "CustomerMgmt.xml").write_text(f"{head}{text}</TPCDI:Actions>\n")


def write_lines(folder: Path, lines: Iterable[tuple[dt.date, str]]) -> None:
    """A file of FINWIRE per quarter."""
    folder.mkdir(parents=True, exist_ok=True)
    quarters: dict[str, list[str]] = defaultdict(list)
    for day, line in lines:
        quarters[f"FINWIRE{day.year}Q{(day.month + 2) // 3}"].append(line)
    for name, found in quarters.items():
        (folder / name).write_text("\n".join(found) + "\n")


def write_rows(path: Path, rows: Iterable[Iterable[object]], mark: str = "|") -> None:
    """A file with a row per line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{mark.join(map(str, row))}\n" for row in rows))


def write_day(folder: Path, day: dt.date, actions: list[Action]) -> None:
    """Customer.txt and Account.txt: a full row per action, its number in the day after the flag."""
    found: dict[str, list[list[str]]] = {"Customer.txt": [], "Account.txt": []}
    for number, action in enumerate(actions):
        flag = "I" if action.kind in {"NEW", "ADDACCT"} else "U"
        for row in action.left:
            name, fields = ("Customer.txt", CUSTOMER) if "C_ID" in row else ("Account.txt", ACCOUNT)
            found[name].append([flag, str(number), *(row[field] for field in fields)])
    for name, rows in found.items():
        write_rows(folder / name, rows)
    write_rows(folder / "BatchDate.txt", [[day]])


def write_references(folder: Path, scale: float, seed: int) -> None:
    """What does not change: employees, tax rates, industries, names of states."""
    draw = random.Random(f"rates {seed}")
    write_rows(folder / "HR.csv", employees(scale, seed), ",")
    write_rows(
        folder / "TaxRate.txt", ((tax, f"Tax of {tax}", f"0.{draw.randrange(10000, 40000)}") for tax in tax_ids())
    )
    write_rows(folder / "Industry.txt", ((f"{n:02}", name, "ALL") for n, name in enumerate(INDUSTRY)))
    write_rows(folder / "StatusType.txt", STATUS.items())
    write_rows(folder / "BatchDate.txt", [[END]])


def write(folder: Path, scale: float = 1, seed: int = 1, slices: int = 1) -> list[Path]:
    """Write the three batches, and return their folders; ``slices``: Batch1 as so many, each of equal time."""
    world = World(scale, seed)
    history, lines = world.history(), list(finwire(scale, seed))
    length = (END - BEGIN).days + 1
    parts = [folder / "Batch1" / f"{n:04}" if slices > 1 else folder / "Batch1" for n in range(slices)]
    write_references(parts[0], scale, seed)

    def place(day: dt.date) -> int:
        return max(0, (day - BEGIN).days * slices // length)

    actions: list[list[Action]] = [[] for _ in parts]
    found: list[list[tuple[dt.date, str]]] = [[] for _ in parts]
    for action in history:
        actions[place(action.at.date())].append(action)
    for line in lines:
        found[place(line[0])].append(line)
    for part, mine, told in zip(parts, actions, found, strict=True):
        write_actions(part, mine)
        write_lines(part, told)
    for n in (2, 3):
        day = END + (n - 1) * DAY
        parts.append(folder / f"Batch{n}")
        write_day(parts[-1], day, world.day(day))
    return parts


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scale", type=float, default=1)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    write(given.folder, given.scale, given.seed)


if __name__ == "__main__":
    main()
