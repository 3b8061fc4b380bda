import numpy as np
import scipy.sparse.linalg

from graphcb.hashing import hash_words, word_places


def test_words_and_signs_count_and_case_does_not():
    assert word_places("A+", 2**18) != word_places("A-", 2**18)
    assert word_places("red RED", 2**18) == word_places("Red", 2**18)
    assert word_places("", 2**18) == []


def test_a_word_has_its_own_place_under_each_prefix():
    assert word_places("red", 2**18, prefix="a=") != word_places("red", 2**18, prefix="b=")


def test_hashed_words_are_rows_of_norm_one_with_a_constant():
    rows = hash_words(["free prize", "see you", ""], 64)
    assert rows.shape == (3, 64)
    np.testing.assert_allclose(scipy.sparse.linalg.norm(rows, axis=1), 1.0)
    assert (rows.toarray()[:, -1] > 0).all()
    assert (hash_words(["see FREE free"], 64) != hash_words(["free see"], 64)).nnz == 0


def test_texts_are_hashed_as_cells_are():
    (row,) = hash_words(["Win £5, now!"], 1025).toarray()
    assert np.flatnonzero(row).tolist() == [*word_places("win £5, now!", 1024), 1024]


def test_no_texts_are_no_rows():
    assert hash_words([], 64).shape == (0, 64)
