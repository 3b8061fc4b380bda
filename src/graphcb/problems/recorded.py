"""The agent of decisions that another program made: it says so, and decides nothing."""

from typing import Any, NoReturn

from graphcb.describing import describe
from graphcb.loaded import Instance, Learned
from graphcb.problems.learner import Learner
from graphcb.problems.problem import Problem


class Recorded:
    """Stands in an imported log where the agent would be, and holds its problem.

    `source` is the file that the decisions come from. `all_probabilities` is False if the file
    had only the probability of the action that was chosen; the log then spreads the rest evenly
    over the other actions of the round.
    """

    learned = Learned(
        problem=Instance(Problem), source=Instance(str), all_probabilities=Instance(bool)
    )

    def __init__(
        self, problem: Problem, *, source: str = "", all_probabilities: bool = True
    ) -> None:
        self.problem = problem
        self.source = source
        self.all_probabilities = all_probabilities

    __repr__ = describe

    def act(self, context: Any, graph: Any = None, actions: Any = None) -> NoReturn:
        """Refuses: nobody here knows how the decisions were made."""
        raise ValueError(
            f"the decisions of this log were imported from {self.source or 'another program'} "
            "and not made by graphcb, which cannot decide as they were; continue the log with a "
            "problem: graphcb log promote LOG problem.toml, or Policy.change(problem)"
        )

    def learn(self, context: Any, actions: Any, values: Any) -> None:
        """Learns nothing: what continues the log learns from what is in it."""

    @property
    def oracle(self) -> Learner | None:
        """An untrained learner for doubly robust estimates, which need all probabilities."""
        return Learner(self.problem) if self.all_probabilities else None
