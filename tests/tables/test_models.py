"""The sample that models are fitted to, and the rows that a model must not have seen."""

import numpy as np
import pyarrow as pa
import pytest

from graphcb.tables.columns import CellPlace
from graphcb.tables.design import design_of
from graphcb.tables.fitting import Fitting
from graphcb.tables.models import folds_of
from graphcb.tables.sampling import Sample, row_hashes
from tests.tables.shop import NAMES, shop

COLUMNS = ("item", "click", "x")


def sample_of(tables, at_most=100_000):
    sample = Sample(at_most)
    for table in tables:
        hashes = row_hashes(table, COLUMNS, CellPlace("", 0), ("item",))
        sample.add(hashes, np.ones(table.num_rows, dtype=np.int64), table)
    return sample


def batch(table):
    return table.select(COLUMNS).combine_chunks().to_batches()[0]


def test_rows_that_repeat_each_other_count_as_often_as_they_came():
    table = batch(shop(20))
    sample = sample_of([table, table.slice(0, 5), table.slice(0, 5)])
    assert sample.hashes.size == 20
    assert sorted(sample.counts) == [1] * 15 + [3] * 5
    assert sample.repeats
    assert not sample_of([table]).repeats


@pytest.mark.parametrize("cut", [1, 17, 60])
def test_the_smallest_hashes_are_kept_whatever_the_parts(cut):
    table = batch(shop(100))
    whole = sample_of([table], at_most=30)
    parts = [sample_of([part], at_most=30) for part in (table.slice(cut), table.slice(0, cut))]
    parts[0].merge(parts[1])
    every = row_hashes(table, COLUMNS, CellPlace("", 0), ("item",))
    assert whole.hashes.tolist() == sorted(every)[:30]
    assert parts[0].hashes.tolist() == whole.hashes.tolist()
    assert parts[0].table.equals(whole.table)


def fitting_of(sample):
    types = {"x": pa.float64()}
    design = design_of(sample.table, sample.counts.astype(float), ["x"], types)
    return Fitting(sample, design, tuple(NAMES), "item", COLUMNS, ("item",))


@pytest.mark.parametrize("fold", [0, 1])
def test_no_prediction_has_seen_its_own_row(fold):
    """Other values in the rows of a fold change the model of the other fold alone."""
    sample = sample_of([batch(shop(400))])
    fitting = fitting_of(sample)
    values = sample.table["click"].to_numpy().astype(float)
    mine = folds_of(sample.hashes) == fold
    changed = np.where(mine, 1.0 - values, values)
    before = fitting.outcomes(values, (0.0, 1.0)).linear.coefficients
    after = fitting.outcomes(changed, (0.0, 1.0)).linear.coefficients
    assert np.array_equal(before[fold], after[fold])
    assert not np.allclose(before[1 - fold], after[1 - fold])


def test_values_that_are_noise_are_not_explained():
    sample = sample_of([batch(shop(400))])
    noise = np.random.default_rng(0).random(400)
    x = sample.table["x"].to_numpy()
    fitting = fitting_of(sample)
    assert fitting.outcomes(noise, (0.0, 1.0)).explained < 0.05
    assert fitting.outcomes(0.5 + 0.1 * x, (-1.0, 2.0)).explained > 0.9
