"""The user's own data: CSV, Parquet, libsvm and Vowpal Wabbit text, read a piece at a time."""

from graphcb.streams.examples import Examples
from graphcb.streams.first_look import Wishes, first_look
from graphcb.streams.problems import Problems
from graphcb.streams.source import Source
from graphcb.streams.sparse import SparseExamples
from graphcb.streams.tabular import Columns, TableExamples
from graphcb.streams.targets import Targets

__all__ = [
    "Columns",
    "Examples",
    "Problems",
    "Source",
    "SparseExamples",
    "TableExamples",
    "Targets",
    "Wishes",
    "first_look",
]
