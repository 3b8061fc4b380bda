"""Predicted losses, a graph and gamma in; probabilities out."""

from graphcb.exploration.choice import Method, closed_form_for, closed_form_probabilities
from graphcb.exploration.from_graphs import FromGraphs
from graphcb.exploration.limits import BoxAndRows, InfeasibleLimits, Limits
from graphcb.exploration.schedules import (
    Automatic,
    Doubling,
    Fixed,
    FromTheory,
    Schedule,
    SquareRoot,
    TwoThirds,
    as_schedule,
)
from graphcb.exploration.solver.batch import solve_dec_batch
from graphcb.exploration.solver.problem import dec
from graphcb.exploration.solver.solution import Solution, SolutionBatch, Status
from graphcb.exploration.solver.solve import solve_dec
from graphcb.graphs.formulas import ClosedForm

__all__ = [
    "Automatic",
    "BoxAndRows",
    "ClosedForm",
    "Doubling",
    "Fixed",
    "FromGraphs",
    "FromTheory",
    "InfeasibleLimits",
    "Limits",
    "Method",
    "Schedule",
    "Solution",
    "SolutionBatch",
    "SquareRoot",
    "Status",
    "TwoThirds",
    "as_schedule",
    "closed_form_for",
    "closed_form_probabilities",
    "dec",
    "solve_dec",
    "solve_dec_batch",
]
