import os

import numpy as np
import pytest
import scipy.sparse

from graphcb.datasets import (
    DataNotFoundError,
    generate_messages,
    hash_words,
    load_rcv1,
    load_sms_spam,
)

needs_data = pytest.mark.skipif(
    "GRAPHCB_DATA" not in os.environ, reason="GRAPHCB_DATA is not set: real data is not here"
)


@needs_data
def test_rcv1_as_the_experiments_use_it():
    data = load_rcv1(50)
    assert data.contexts.shape == (25_894, 47_236)
    assert data.losses.shape == (25_894, 50)
    assert (data.losses.min(axis=1) == 0.0).all()
    assert not set(data.topics) & {"CCAT", "ECAT", "GCAT", "MCAT"}
    np.testing.assert_allclose(
        scipy.sparse.linalg.norm(data.contexts[:100], axis=1), 1.0, atol=1e-4
    )
    assert set(load_rcv1(10).topics) <= set(data.topics)


@needs_data
def test_messages():
    messages = load_sms_spam()
    assert len(messages.texts) == 5574
    assert messages.is_spam.sum() == 747


@pytest.fixture
def small(tmp_path, monkeypatch):
    folder = tmp_path / "rcv1"
    folder.mkdir()
    labels = np.array([[1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 1, 0], [1, 0, 0, 0]], dtype=np.uint8)
    scipy.sparse.save_npz(folder / "rcv1_28k_X.npz", scipy.sparse.csr_matrix(np.eye(4)))
    scipy.sparse.save_npz(folder / "rcv1_28k_Y101.npz", scipy.sparse.csr_matrix(labels))
    (folder / "topics101.txt").write_text("CCAT\nE11\nB22\nZ33\n")
    monkeypatch.setenv("GRAPHCB_DATA", str(tmp_path))
    return tmp_path


def test_topics_are_the_most_frequent_below_the_roots(small):
    data = load_rcv1(2)
    assert data.topics == ("B22", "E11")
    assert data.contexts.toarray().tolist() == np.eye(4)[:3].tolist()  # the last has neither
    assert data.losses.tolist() == [[1, 0], [0, 1], [0, 1]]
    with pytest.raises(ValueError, match="`n_topics` must be at most 3, got 4"):
        load_rcv1(4)


def test_what_is_missing_is_named(small, monkeypatch):
    with pytest.raises(
        DataNotFoundError, match="which does not contain sms_spam/SMSSpamCollection"
    ):
        load_sms_spam()
    monkeypatch.delenv("GRAPHCB_DATA")
    with pytest.raises(DataNotFoundError, match=r"set GRAPHCB_DATA .*or use generate_messages"):
        load_sms_spam()


def test_without_data_and_network_both_ways_are_named(monkeypatch):
    import sys

    monkeypatch.delenv("GRAPHCB_DATA", raising=False)
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)  # as if it were not installed
    with pytest.raises(
        DataNotFoundError, match=r"set GRAPHCB_DATA .*or install graphcb\[sklearn\]"
    ):
        load_rcv1(3)


def test_messages_are_read_line_by_line(tmp_path, monkeypatch):
    (tmp_path / "sms_spam").mkdir()
    (tmp_path / "sms_spam" / "SMSSpamCollection").write_text(
        "label\ttext\nham\tsee you\tlater\nspam\tFREE prize!\n"
    )
    monkeypatch.setenv("GRAPHCB_DATA", str(tmp_path))
    messages = load_sms_spam()
    assert messages.texts == ("see you\tlater", "FREE prize!")
    assert messages.is_spam.tolist() == [False, True]


def test_generated_messages_can_be_told_apart():
    messages = generate_messages(2000, np.random.default_rng(0))
    rows = hash_words(messages.texts, 512).toarray()
    spam, ham = rows[messages.is_spam].mean(axis=0), rows[~messages.is_spam].mean(axis=0)
    guess = rows @ (spam - ham) > 0.5 * (spam + ham) @ (spam - ham)
    assert (guess == messages.is_spam).mean() > 0.8
