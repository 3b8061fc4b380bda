"""Tables of decisions that any program wrote: what would another policy have earned?"""

from graphcb.tables.evaluating import evaluate_table
from graphcb.tables.result import JudgedPolicy, TableEvaluation

__all__ = ["JudgedPolicy", "TableEvaluation", "evaluate_table"]
