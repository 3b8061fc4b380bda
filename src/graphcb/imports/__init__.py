"""Logs that other programs wrote: read, turned into decision logs, and continued."""

from graphcb.imports.foreign import ForeignDecision, LogFormat, read_foreign
from graphcb.imports.into_log import ImportReport, import_log
from graphcb.imports.table import DecisionColumns, DecisionTable

__all__ = [
    "DecisionColumns",
    "DecisionTable",
    "ForeignDecision",
    "ImportReport",
    "LogFormat",
    "import_log",
    "read_foreign",
]
