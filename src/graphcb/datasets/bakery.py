"""A bakery chain: the daily sales of each store and product, and what was known beforehand."""

from itertools import zip_longest
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import as_count, listed
from graphcb.datasets.location import find
from graphcb.datasets.tables import Row, read_csv

NAMES = (
    "date",
    "weekday",
    "month",
    "year",
    "is_schoolholiday",
    "is_holiday",
    "is_holiday_next2days",
    "store",
    "product",
    "rain",
    "temperature",
    "promotion_currentweek",
    "promotion_lastweek",
)
WEEKDAYS = ("MON", "TUE", "WED", "THU", "FRI", "SAT", "SUN")
MONTHS = ("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")
OTHERWISE = "use generate_bakery(n, rng)"
FIRST_DAY = np.datetime64("2016-01-02")


class Bakery(NamedTuple):
    """Features (n, 13), the name of each column, and the demand (n,)."""

    features: NDArray[np.float64]
    names: tuple[str, ...]
    demand: NDArray[np.float64]


def load_bakery() -> Bakery:
    """The bakery data from `GRAPHCB_DATA`/bakery, in the order of the files: store by store.

    Numbers are as in the file. Words become numbers: `date` is the number of days since 1 January
    1970, `weekday` is 0 to 6 from Monday, `month` is 1 to 12.
    """
    table, targets = (
        read_csv(find("bakery", f"bakery_{part}.csv.gz", OTHERWISE)) for part in ("data", "target")
    )
    rows = table.rows
    if table.names != NAMES:
        raise ValueError(f"bakery_data.csv.gz: must have the columns {listed(NAMES, at_most=13)}")
    features = np.empty((len(rows), len(NAMES)))
    demand = np.empty(len(rows))
    for line, (row, target) in enumerate(zip_longest(rows, targets.rows), start=2):
        try:
            features[line - 2] = _as_numbers(row)
            (demand[line - 2],) = target
        except (ValueError, IndexError, TypeError) as reason:
            raise ValueError(
                f"bakery_data.csv.gz and bakery_target.csv.gz, line {line}: must be a day of the "
                f"bakery and its demand, got {row} and {target}: {reason}"
            ) from None
    return Bakery(features, NAMES, demand)


def generate_bakery(n: int, rng: np.random.Generator) -> Bakery:
    """A stand-in in the same form: generated days of four stores and three products.

    Demand depends on the product, the store and the weekday, with noise of a fifth.

    >>> bakery = generate_bakery(100, np.random.default_rng(0))
    >>> bakery.features.shape, bakery.demand.shape
    ((100, 13), (100,))
    """
    size = as_count("n", n)
    kind = np.arange(size) % 12  # a store and a product; twelve rows are a day
    days = FIRST_DAY + np.arange(size) // 12
    months = days.astype("datetime64[M]").astype(int)
    weekday = (days.astype(int) + 3) % 7  # 1 January 1970 was a Thursday
    store, product = 1.0 + kind // 3, np.array([101.0, 109.0, 110.0])[kind % 3]
    holiday = (rng.random(size) < 0.03).astype(float)
    promotion = (rng.random((size, 2)) < 0.1).astype(float)
    temperature = 10.0 - 9.0 * np.cos(2 * np.pi * (months % 12) / 12) + rng.normal(0, 3, size)
    rain = np.maximum(0.0, rng.normal(0.0, 4.0, size))
    features = np.column_stack(
        (
            days.astype(int),
            weekday,
            months % 12 + 1,
            months // 12 + 1970,
            np.isin(months % 12, (6, 7)),
            holiday,
            np.append(holiday[1:], 0.0),
            store,
            product,
            np.round(rain, 1),
            np.round(temperature, 1),
            promotion,
        )
    )
    level = 20.0 * (1.0 + kind % 3) * (0.6 + 0.2 * store) * np.where(weekday >= 4, 1.5, 1.0)
    level *= (1.0 - 0.5 * holiday) * (1.0 + 0.3 * promotion[:, 0]) * (1.0 - 0.01 * rain)
    demand = np.maximum(0.0, np.round(level * rng.normal(1.0, 0.2, size)))
    return Bakery(features.astype(np.float64), NAMES, demand)


def _as_numbers(row: Row) -> list[float]:
    date, weekday, month, *rest = row
    day = float(np.datetime64(date, "D").astype(int))
    return [day, WEEKDAYS.index(weekday), MONTHS.index(month) + 1, *map(float, rest)]
