"""The user's own data: CSV, Parquet, JSON lines, libsvm and VW text, a few rows at a time."""

from graphcb.streams.examples import BadRows, Examples
from graphcb.streams.first_look import ReadOptions, first_look
from graphcb.streams.report import ColumnReport, Report
from graphcb.streams.rounds import RoundExamples
from graphcb.streams.source import Source
from graphcb.streams.sparse import SparseExamples
from graphcb.streams.tabular import Columns, TableExamples
from graphcb.streams.targets import Targets

__all__ = [
    "BadRows",
    "ColumnReport",
    "Columns",
    "Examples",
    "ReadOptions",
    "Report",
    "RoundExamples",
    "Source",
    "SparseExamples",
    "TableExamples",
    "Targets",
    "first_look",
]
