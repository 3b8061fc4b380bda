"""RCV1: news stories as sparse rows of words, each with one or more topics."""

import os
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from graphcb.checks import as_count
from graphcb.datasets.location import find

ROOTS = ("CCAT", "ECAT", "GCAT", "MCAT")  # the top of the topic hierarchy
OTHERWISE = "install graphcb[sklearn] and let scikit-learn's fetch_rcv1 download it"


class TopicData(NamedTuple):
    """Contexts (n, d) as a scipy CSR array, losses (n, K): 0 for a topic of the story, else 1."""

    contexts: Any
    losses: NDArray[np.float64]
    topics: tuple[str, ...]


def load_rcv1(n_topics: int) -> TopicData:
    """The stories with at least one of the `n_topics` most frequent topics below the roots.

    Read from `GRAPHCB_DATA`/rcv1 if that is set, else by scikit-learn's `fetch_rcv1`, which
    downloads the data once and caches it. Topics of equal frequency are ordered by name.
    """
    contexts, labels, names = _read_folder() if "GRAPHCB_DATA" in os.environ else _fetch()
    order = np.argsort(names)
    counts = np.asarray(labels.sum(axis=0), dtype=np.int64).ravel()[order]
    counts[np.isin(names[order], ROOTS)] = -1
    size = as_count("n_topics", n_topics)
    if size > (counts >= 0).sum():
        raise ValueError(f"`n_topics` must be at most {(counts >= 0).sum()}, got {size}")
    chosen = order[np.argsort(-counts, kind="stable")[:size]]
    topics = labels.tocsc()[:, chosen].toarray() > 0
    kept = np.flatnonzero(topics.any(axis=1))
    losses = 1.0 - topics[kept].astype(np.float64)
    return TopicData(contexts[kept], losses, tuple(names[chosen].tolist()))


def _read_folder() -> tuple[Any, Any, NDArray[np.str_]]:
    from scipy.sparse import load_npz

    contexts = load_npz(find("rcv1", "rcv1_28k_X.npz", OTHERWISE)).tocsr()
    labels = load_npz(find("rcv1", "rcv1_28k_Y101.npz", OTHERWISE))
    names = find("rcv1", "topics101.txt", OTHERWISE).read_text(encoding="utf-8").split()
    return contexts, labels, np.array(names)


def _fetch() -> tuple[Any, Any, NDArray[np.str_]]:
    try:
        from sklearn.datasets import fetch_rcv1

        data = fetch_rcv1()
    except (ImportError, OSError):
        find("rcv1", "rcv1_28k_X.npz", OTHERWISE)  # raises the text that names both ways
        raise
    return data.data.tocsr(), data.target, np.array(data.target_names)
