"""A problem, said once: its actions by name, what each reveals, losses or rewards, features."""

from graphcb.problems.baselines import Baseline
from graphcb.problems.defaults import Defaults
from graphcb.problems.learner import Learner, problem_of
from graphcb.problems.problem import Problem
from graphcb.problems.recorded import Recorded
from graphcb.problems.reveals import Reveals
from graphcb.problems.succession import carry_rules, succeed

__all__ = [
    "Baseline",
    "Defaults",
    "Learner",
    "Problem",
    "Recorded",
    "Reveals",
    "carry_rules",
    "problem_of",
    "succeed",
]
