"""Logs that other programs wrote: read, and turned into decision logs."""

from graphcb.imports.foreign import ForeignDecision, LogFormat, read_foreign
from graphcb.imports.into_log import ImportReport, import_log

__all__ = ["ForeignDecision", "ImportReport", "LogFormat", "import_log", "read_foreign"]
