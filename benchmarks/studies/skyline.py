"""What could be had with full information: models of scikit-learn that see all losses.

They are refitted as data grow, and predict only rows that they have not seen. The action is the one
with the least expected loss. Nobody who sees a part of the losses is expected to reach them.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.streams.cells import is_number
from studies.streams import load_stream

Floats = NDArray[np.float64]

FIRST, GROWTH = 40, 1.6  # rows of the first fit, and how many times as many those after it have
MOST_FORMS = 64  # different rows of losses that are taken for classes
MISSING = ("", "?", "NA", "nan")
MOST_WORDS = 200  # values of a column that are taken for categories; more are text
HASHED = 64  # columns for the words of a text
WAVES = 300


def play_skyline(spec: Mapping[str, Any], seed: int, model: str) -> Floats:
    """The loss in each row of a stream; uniform choice until the first fit."""
    stream = load_stream(spec, seed)
    table, categories = as_numbers(stream.features)
    losses = stream.losses
    forms, which = np.unique(losses, axis=0, return_inverse=True)
    which, is_form = which.reshape(-1), len(forms) <= MOST_FORMS
    make = partial(MODELS[model], categories)
    played: Floats = losses.mean(axis=1)
    begin = min(max(FIRST, 3 * len(forms)) if is_form else FIRST, len(losses))
    while begin < len(losses):
        end = min(int(GROWTH * begin) + 1, len(losses))
        known, new = table[:begin], table[begin:end]
        if is_form:
            expected = expect_forms(make, known, which[:begin], new, forms)
        else:
            expected = expect_each(make, known, losses[:begin], new)
        played[begin:end] = losses[np.arange(begin, end), expected.argmin(axis=1)]
        begin = end
    return played


def expect_forms(
    make: Callable[..., Any], known: Floats, which: NDArray[np.intp], new: Floats, forms: Floats
) -> Floats:
    """Expected losses where they have few forms, as one for each class: a classifier of these."""
    if (which == which[0]).all():
        return np.tile(forms[which[0]], (len(new), 1))
    model = make(is_classifier=True).fit(known, which)
    expected: Floats = model.predict_proba(new) @ forms[model.classes_]
    return expected


def expect_each(make: Callable[..., Any], known: Floats, losses: Floats, new: Floats) -> Floats:
    """Expected losses by one regression for each action."""
    models = [make(is_classifier=False).fit(known, column) for column in losses.T]
    return np.column_stack([model.predict(new) for model in models])


def trees(categories: NDArray[np.bool_], *, is_classifier: bool) -> Any:
    """Boosted trees."""
    from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor

    kind = HistGradientBoostingClassifier if is_classifier else HistGradientBoostingRegressor
    return kind(
        max_iter=60, learning_rate=0.15, min_samples_leaf=5, categorical_features=categories,
        early_stopping=False, random_state=0,
    )  # fmt: skip


def rbf(categories: NDArray[np.bool_], *, is_classifier: bool) -> Any:
    """A kernel machine: logistic or ridge regression on features of a Gaussian kernel."""
    from sklearn.compose import make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.kernel_approximation import RBFSampler
    from sklearn.linear_model import LogisticRegression, Ridge
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), categories),
        remainder=make_pipeline(SimpleImputer(keep_empty_features=True), StandardScaler()),
    )
    last = LogisticRegression(C=10.0, max_iter=300) if is_classifier else Ridge(1.0)
    waves = RBFSampler(gamma="scale", n_components=WAVES, random_state=0)
    return make_pipeline(columns, waves, last)


MODELS: Mapping[str, Callable[..., Any]] = {"trees": trees, "rbf": rbf}


def as_numbers(rows: list[list[str]]) -> tuple[Floats, NDArray[np.bool_]]:
    """Columns of numbers, categories as numbers, texts as hashed words; which are categories."""
    columns: list[Floats] = []
    categories: list[bool] = []
    for cells in zip(*rows, strict=True):
        values = sorted(set(cells))
        has_words = not all(is_number(cell) or cell in MISSING for cell in values)
        if has_words and len(values) > MOST_WORDS:
            columns.append(hashed(cells))
        elif has_words:
            columns.append(np.array([[float(values.index(cell))] for cell in cells]))
        else:
            columns.append(
                np.array([[np.nan if cell in MISSING else float(cell)] for cell in cells])
            )
        categories += [has_words and len(values) <= MOST_WORDS] * columns[-1].shape[1]
    return np.column_stack(columns), np.array(categories)


def hashed(texts: tuple[str, ...]) -> Floats:
    """Counts of words by their hashes."""
    from sklearn.feature_extraction.text import HashingVectorizer

    counts = HashingVectorizer(n_features=HASHED, norm=None, alternate_sign=False)
    found: Floats = counts.transform(texts).toarray()
    return found
