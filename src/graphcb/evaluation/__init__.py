"""Off-policy evaluation: the loss of a policy, estimated from another policy's log."""

from graphcb.estimates.estimate import Estimate, WeightSpread
from graphcb.estimates.intervals import Interval, confidence_sequence
from graphcb.evaluation.candidates import candidate
from graphcb.evaluation.judging import Evaluation, evaluate
from graphcb.evaluation.keeping import BaselineKept, BudgetKept, GuardrailsKept
from graphcb.evaluation.mattering import importances
from graphcb.evaluation.replayed import shadow
from graphcb.evaluation.summary import LogSummary, summarize
from graphcb.evaluation.targets import Target, as_saved, constant, greedy, logged, uniform
from graphcb.evaluation.weighing import weighing_graphs

__all__ = [
    "BaselineKept",
    "BudgetKept",
    "Estimate",
    "Evaluation",
    "GuardrailsKept",
    "Interval",
    "LogSummary",
    "Target",
    "WeightSpread",
    "as_saved",
    "candidate",
    "confidence_sequence",
    "constant",
    "evaluate",
    "greedy",
    "importances",
    "logged",
    "shadow",
    "summarize",
    "uniform",
    "weighing_graphs",
]
