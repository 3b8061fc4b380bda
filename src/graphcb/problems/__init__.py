"""A problem, said once: its actions by name, what each reveals, losses or rewards, features."""

from graphcb.problems.learner import Learner, problem_of
from graphcb.problems.plain import plain_actions, plain_context
from graphcb.problems.problem import Problem
from graphcb.problems.recorded import Recorded
from graphcb.problems.reveals import Reveals

__all__ = [
    "Learner",
    "Problem",
    "Recorded",
    "Reveals",
    "plain_actions",
    "plain_context",
    "problem_of",
]
