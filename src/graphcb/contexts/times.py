"""Dates and times as features: a trend, and where they stand in a day, a week and a year.

A time becomes seven numbers and three categories. The trend is in days. Hour, weekday and month are
each an angle, given by its sine and cosine, so that 23:59 is close to 0:00; and each is a category,
which takes no more than one row to say that Wednesdays differ. The clock is read as it is written:
an offset such as +02:00 is not added.
"""

import math
import re
from collections.abc import Mapping, Sequence
from datetime import date, datetime, time
from functools import lru_cache
from typing import Any

import numpy as np

NUMBERS = (
    "trend",
    *(f"{part} {side}" for part in ("hour", "weekday", "month") for side in ("sine", "cosine")),
)
WORDS = ("hour", "weekday", "month")
_ISO = re.compile(r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d.*)?|\d\d:\d\d(?::\d\d(?:\.\d+)?)?", re.ASCII)
# 31.12.2024, 12/31/24, 2024/12/31: day or month first cannot be seen, so none of them is read.
_OTHER = re.compile(
    r"(?:\d{1,2}([./-])\d{1,2}\1\d{4}|\d{1,2}/\d{1,2}/\d\d|\d{4}([/.])\d{1,2}\2\d{1,2})"
    r"(?:[ T,]+\d.*)?",
    re.ASCII,
)
_PARTS = tuple(f": {part}" for part in (*NUMBERS, *WORDS))
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()  # noqa: SIM905
_MONTHS = "January February March April May June July August September October November December"
_ORIGIN = datetime(2000, 1, 1)  # of the trend
_NAN = float("nan")

Parts = tuple[tuple[float, ...], tuple[str | None, ...]]  # as in NUMBERS and WORDS
NOTHING: Parts = ((_NAN,) * len(NUMBERS), (None,) * len(WORDS))


def numbers_of(name: str) -> list[str]:
    """What the numbers of a time are called."""
    return [f"{name}: {part}" for part in NUMBERS]


def words_of(name: str) -> list[str]:
    """What the categories of a time are called."""
    return [f"{name}: {part}" for part in WORDS]


def whole_of(name: str) -> str:
    """The time that a feature is a part of, or the feature itself.

    >>> whole_of("when: hour sine"), whole_of("when")
    ('when', 'when')
    """
    for part in _PARTS:
        if name.endswith(part):
            return name.removesuffix(part)
    return name


def time_parts(value: Any) -> Parts | None:
    """The parts of a date, a time, or a text that is one in ISO 8601; None for all others.

    >>> numbers, words = time_parts("2024-05-01 18:00")
    >>> [round(x, 2) for x in numbers], words
    ([8887.75, -1.0, -0.0, 0.62, -0.78, 0.87, -0.5], ('18:00', 'Wednesday', 'May'))
    >>> time_parts("half past six")
    """
    if type(value) is str:
        if len(value) < 5 or not ("0" <= value[0] <= "9") or (value[2] != ":" and value[4] != "-"):
            return None
        return _text_parts(value)
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, datetime):
        return _parts(value, value.time()) if value == value else None  # NaT is not itself
    if isinstance(value, date):
        return _parts(value, time())
    return _parts(None, value) if isinstance(value, time) else None


def is_other_date(text: str) -> bool:
    """Whether a text looks like a date that `time_parts` does not read.

    >>> is_other_date("31.12.2024 18:30"), is_other_date("2024-12-31"), is_other_date("10.0.1.17")
    (True, False, False)
    """
    return _OTHER.fullmatch(text.strip()) is not None


def with_times(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """The row with its times in parts; the row itself if it has none."""
    found = {name: parts for name, value in row.items() if (parts := time_parts(value)) is not None}
    if not found:
        return row
    whole: dict[str, Any] = {}
    for name, value in row.items():
        if name not in found:
            whole[name] = value
            continue
        numbers, words = found[name]
        whole |= {key: x for key, x in zip(numbers_of(name), numbers, strict=True) if x == x}
        whole |= {key: word for key, word in zip(words_of(name), words, strict=True) if word}
    return whole


def columns_of(cells: Sequence[Any]) -> tuple[list[list[float]], list[list[str | None]]]:
    """Times as columns of numbers and columns of categories, without values where they are none."""
    rows = [time_parts(cell) or NOTHING for cell in cells]
    numbers = [[row[0][j] for row in rows] for j in range(len(NUMBERS))]
    return numbers, [[row[1][j] for row in rows] for j in range(len(WORDS))]


@lru_cache(maxsize=2**12)
def _text_parts(text: str) -> Parts | None:
    if not _ISO.fullmatch(text.strip()):
        return None
    try:
        if text.strip()[2] == ":":
            return _parts(None, time.fromisoformat(text.strip()))
        return time_parts(datetime.fromisoformat(text.strip()))
    except ValueError:
        return None


def _parts(day: date | None, clock: time) -> Parts:
    hours = clock.hour + clock.minute / 60 + (clock.second + clock.microsecond * 1e-6) / 3600
    angles = [hours / 24]
    trend = _NAN
    words: tuple[str | None, ...] = (f"{clock.hour}:00", None, None)
    if day is None:
        angles += [_NAN, _NAN]
    else:
        midnight = datetime(day.year, day.month, day.day)
        trend = (midnight - _ORIGIN).days + hours / 24
        angles += [
            (day.weekday() + hours / 24) / 7,
            (midnight.timetuple().tm_yday - 1 + hours / 24) / 365.25,
        ]
        words = (f"{clock.hour}:00", _DAYS[day.weekday()], _MONTHS.split()[day.month - 1])
    turned = [2 * math.pi * angle for angle in angles]
    return (trend, *(f(x) for x in turned for f in (math.sin, math.cos))), words
