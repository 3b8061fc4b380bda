import numpy as np

from graphcb.contexts import Encoder
from graphcb.contexts.codes import codes_in_words


def test_features_with_the_same_code_are_named_in_one_sentence():
    """A table with -999 in a hundred columns has one line about it, and not a hundred."""
    encoder, rng = Encoder(), np.random.default_rng(0)
    for t in range(500):
        numbers = {f"x{j}": -999.0 if t % 50 == j else float(rng.normal()) for j in range(12)}
        other = 1e6 if t % 40 == 0 else float(rng.normal())
        encoder.learn({**numbers, "other": other, "fine": float(rng.normal())})
    many, one = codes_in_words([encoder, None])
    names = ", ".join(f"'x{j}'" for j in range(10))
    assert many.startswith(
        f"the features {names} and 2 more were -999 more than once, far from all their other values"
    )
    assert one.startswith("the feature 'other' was 1000000 more than once, far from all its other")
