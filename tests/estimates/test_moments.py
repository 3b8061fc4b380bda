"""Sums over decisions: exact, whatever the order and the parts."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphcb.estimates.exact import N_DIGITS, carry, rounded
from graphcb.estimates.moments import N_SIZES, POWERS, BySize, Moments
from graphcb.saving import from_bytes, to_bytes

weights = st.one_of(st.just(0.0), st.floats(1e-6, 1e9))
values = st.floats(-1e6, 1e6)
decisions = st.lists(st.tuples(weights, values, weights, values), max_size=40)


def sums_of(rows):
    moments = Moments(2)
    table = np.array(rows, dtype=float).reshape(-1, 4).T
    w = table[[0, 2]]
    moments.add(w, w * table[[1, 3]])
    return moments


def same(one, other):
    mine, theirs = (
        (*m.of(0), *m.of(1), m.products(0, 1), m.largest, m.apart(0, 1)) for m in (one, other)
    )
    return all(map(np.array_equal, mine, theirs))


@given(decisions)
def test_sums_are_those_of_exact_addition(rows):
    moments = sums_of(rows)
    for target in (0, 1):
        w = [row[2 * target] for row in rows]
        x = [row[2 * target] * row[2 * target + 1] for row in rows]
        by_size = moments.of(target)
        for size in range(N_SIZES):
            chosen = [i for i, one in enumerate(w) if one > 0.0 and size_of(one) == size]
            assert by_size.number[size] == len(chosen)
            assert by_size.w[size] == math.fsum(w[i] for i in chosen)
            assert by_size.xx[size] == math.fsum(x[i] * x[i] for i in chosen)
            assert by_size.v[size] == math.fsum(x[i] / w[i] for i in chosen)
        assert moments.largest[target] == max(w, default=0.0)
    both = [row[0] * (row[2] * row[3]) for row in rows if row[0] * row[2] > 0.0]
    assert moments.products(0, 1)[0, 1] == math.fsum(both)
    assert moments.products(1, 0)[1, 0] == math.fsum(both)


def size_of(weight):
    return min(max(math.frexp(weight)[1], 0), N_SIZES - 1)


@given(decisions, st.randoms(use_true_random=False), st.integers(1, 5))
def test_order_and_parts_do_not_matter(rows, random, n_parts):
    shuffled = list(rows)
    random.shuffle(shuffled)
    parts = [sums_of(shuffled[k::n_parts]) for k in range(n_parts)]
    merged = Moments(2)
    for part in parts:
        merged.merge(from_bytes(to_bytes(part), where="", classes=[Moments]))
    assert merged.n == len(rows)
    assert same(merged, sums_of(rows))


@given(decisions, st.integers(0, 12))
def test_weights_can_be_cut_afterwards(rows, size):
    cut = sums_of(rows).of(0).cut(size)
    w = np.array([min(row[0], 2.0**size) for row in rows if row[0] > 0.0])
    v = np.array([row[0] * row[1] / row[0] for row in rows if row[0] > 0.0])
    for name in POWERS:
        product = np.ones(w.size)
        for letter in name:
            product = product * {"w": w, "x": w * v, "v": v}[letter]
        scale = np.abs(product).sum() + 1e-300
        assert getattr(cut, name).sum() / scale == pytest.approx(product.sum() / scale, abs=1e-12)


def test_digits_carry():
    digits = np.zeros((1, N_DIGITS), dtype=np.int64)
    digits[0, 33] = -(1 << 18)
    before = rounded(digits)
    carry(digits)
    assert rounded(digits) == before == -1.0
    assert (digits[0, :-1] >= 0).all()
    assert digits[0, -1] < 0


def test_carrying_between_additions_changes_nothing(monkeypatch):
    rows = np.random.default_rng(0).lognormal(size=(2, 2, 300))
    whole = Moments(2)
    whole.add(*rows)
    monkeypatch.setattr("graphcb.estimates.moments.MOST_ADDITIONS", 7)
    often = Moments(2)
    often.add(*rows)
    assert same(whole, often)


def test_sums_beyond_the_largest_number_are_infinite():
    digits = np.zeros((2, N_DIGITS), dtype=np.int64)
    digits[:, -1] = [1 << 20, -(1 << 20)]
    assert rounded(digits).tolist() == [math.inf, -math.inf]


def test_the_sums_of_a_target_are_named():
    assert BySize._fields == ("number", *POWERS)
