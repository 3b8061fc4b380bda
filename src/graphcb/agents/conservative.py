"""Conservative: an agent that is never worse than today's rule."""

from typing import Any

import numpy as np

from graphcb.agents.baselines import (
    BesideBaseline,
    baseline_probabilities,
    check_limits,
)
from graphcb.agents.deviation import Deviation, Proof
from graphcb.checks import as_numbers, as_probabilities
from graphcb.estimates.intervals import check_confidence
from graphcb.estimates.sums import N_BETS, lower_end
from graphcb.graphs import FeedbackGraph, as_graph
from graphcb.graphs.structure import Floats
from graphcb.loaded import check_array, check_counts, check_numbers
from graphcb.rounds import Agent, Played, hook

LARGEST_EPSILON = 1000.0
# Where the gain of a deviation has to be estimated, the baseline stays in it with this
# probability, or with ENOUGH over what is proven once that is less.
SHARE, ENOUGH = 0.5, 4.0


class Conservative(BesideBaseline):
    """Plays a baseline until an agent is proven to afford more; never loses much more than it.

    With probability `confidence`, at all times at once,

        what was lost so far <= (1 + epsilon) * what the baseline would have lost,

    whatever the losses are and however bad the agent is. Losses lie in [0, 1]. `baseline` is an
    action, by the name or index that rounds have for it, or an object with `act`, such as a rule
    or the last model: a copy is kept, which neither learns nor counts rounds.

    While the baseline is played, epsilon times its loss is put by, where that loss is revealed,
    and the agent learns. As soon as `proven`, a lower bound on what was gained so far, covers
    what a round may lose, 1 at most, the agent decides. A deviation without feedback counts as
    lost until it comes, and so does one that has only a default after waiting. `loss` is the mean
    loss of the baseline if it is known: then it stands for the baseline's losses, seen or not. See
    decision note 0031 for the bound and its proof.

    It needs the hooks `on_draw` and `on_feedback`, which the run loop and `Policy` call; without
    them it only plays the baseline. Limits hold if the baseline obeys them, and it is refused if
    not.

    >>> from graphcb import InformationDirected, experiments, graphs
    >>> from graphcb.environments import KnownLosses
    >>> world = KnownLosses(np.ones((300, 1)), [[0.5, 0.0]] * 300, graphs.full_information(2))
    >>> agent = Conservative(InformationDirected(), 0, epsilon=0.1)
    >>> rows = list(experiments.loop.run(agent, world, seed=0))
    >>> [row.action for row in rows[:22]]
    [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]
    >>> round(agent.proven, 6), agent.n_deviations
    (155.0, 280)
    """

    def __init__(
        self,
        agent: Agent,
        baseline: Any,
        *,
        epsilon: float = 0.1,
        loss: float | None = None,
        confidence: float = 0.95,
    ) -> None:
        if not 0.0 < epsilon <= LARGEST_EPSILON:
            raise ValueError(
                f"`epsilon` must be positive and at most {LARGEST_EPSILON:g}, such as 0.1, got "
                f"{epsilon}; it is what may be lost more than the baseline, as a share"
            )
        if loss is not None and not 0.0 <= loss <= 1.0:
            raise ValueError(f"`loss` must be a mean loss in [0, 1], or None, got {loss}")
        check_confidence(confidence)
        super().__init__(agent, baseline)
        self.epsilon, self.loss, self.confidence = epsilon, loss, confidence
        self.n_deviations = 0
        self.proven = self.least = 0.0
        self.estimated = np.zeros(N_BETS)

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None, **rules: Any) -> Floats:
        """The agent's probabilities if what is proven covers them, else the baseline's.

        `rules` are `names`, `costs` and `known`, as other agents take them.
        """
        n_actions, names = as_graph(graph).n_actions, rules.get("names")
        baseline = baseline_probabilities(self.baseline, context, graph, actions, names)
        box = check_limits(self.agent, baseline, graph, actions, names)
        proposed = as_probabilities(self.agent.act(context, graph, actions, **rules), n_actions)
        self.n_rounds += 1
        deviation = self._deviation(proposed, baseline, graph)
        share = self._share(deviation, baseline)
        if share > 0.0:
            proposed = (1.0 - share) * proposed + share * baseline
            if box is not None:  # both obey, so only rounding is clipped
                proposed = np.clip(proposed, box.lower, box.upper)
            deviation = self._deviation(proposed, baseline, graph)
        return proposed if deviation.risk <= self.proven else baseline

    def on_draw(self, played: Played) -> None:
        """Count the round as lost as far as it may be, until feedback comes.

        Where nothing but known losses can come, the round has them already.
        """
        deviation = self._of(played)
        least, estimated = self._after(deviation.proof(played.action, played.known))
        inner = hook(self.agent, "on_draw")
        if inner is not None:
            inner(played)
        self.least, self.estimated = least, estimated
        self.n_deviations += int(deviation.total > 0.0)
        self.proven = max(self.proven + deviation.worst(played.action), self._end())

    def on_feedback(self, played: Played, indices: Any, losses: Any) -> None:
        """Count what the feedback proves of the round that it is for: a default nothing."""
        least, estimated = self.least, self.estimated
        if not played.by_default:
            known = dict(played.known or {}) | _as_shares(indices, losses)
            deviation = self._of(played)
            before = deviation.proof(played.action, played.known)
            least, estimated = self._after(deviation.proof(played.action, known), before)
        inner = hook(self.agent, "on_feedback")
        if inner is not None:
            inner(played, indices, losses)
        self.least, self.estimated = least, estimated
        self.proven = max(self.proven, self._end())

    def explain(self, graph: FeedbackGraph, names: Any = None) -> str:
        """When the agent decides on this graph, and what keeps it from deciding."""
        graph = as_graph(graph)
        if self.loss is None and not hasattr(self.baseline, "act"):
            played = baseline_probabilities(self.baseline, None, graph, None, names)
            if not graph.own_chances[played.argmax()] > 0.0:
                return (
                    f"always the baseline {self.baseline!r}: playing it does not reveal its loss, "
                    "so nothing is put by; give its mean loss as loss=, or a baseline that "
                    "reveals its own loss"
                )
        return (
            f"the agent decides while a proven gain of {self.proven:.4g} covers what a round may "
            f"lose, 1 at most; the baseline {self.baseline!r} puts by {self.epsilon:g} of its loss"
        )

    def check_loaded(self) -> None:
        super().check_loaded()
        check_numbers(self, "epsilon", least=5e-324, most=LARGEST_EPSILON)
        if self.loss is not None:
            check_numbers(self, "loss", least=0.0, most=1.0)
        check_numbers(self, "confidence")
        check_confidence(self.confidence)
        check_counts(self, n_deviations=0)
        check_numbers(self, "proven", "least")
        check_array(self, "estimated", (N_BETS,))

    def _share(self, deviation: Deviation, baseline: Floats) -> float:
        """How much of the baseline to keep in a deviation, for the sake of its proof."""
        share = SHARE if self.proven <= ENOUGH / SHARE else ENOUGH / self.proven
        scarce = deviation.needed & (deviation.reveal < share)
        if not scarce.any():
            return 0.0
        helps = deviation.graph.reveal_probabilities(baseline)[scarce] > deviation.reveal[scarce]
        return share if helps.any() else 0.0

    def _of(self, played: Played) -> Deviation:
        baseline = baseline_probabilities(
            self.baseline, played.context, played.graph, played.actions, played.names
        )
        return self._deviation(played.probabilities, baseline, played.graph)

    def _deviation(self, played: Floats, baseline: Floats, graph: FeedbackGraph) -> Deviation:
        return Deviation(played, baseline, graph, self.epsilon, self.loss)

    def _after(self, proof: Proof, before: Proof | None = None) -> tuple[float, Floats]:
        """The sums with one more proof, in place of an earlier one."""
        least, estimated = self.least + proof.least, self.estimated + proof.estimated
        if before is not None:
            least, estimated = least - before.least, estimated - before.estimated
        return least, estimated

    def _end(self) -> float:
        return max(self.least, lower_end(self.estimated, 1.0 - self.confidence))


def _as_shares(indices: Any, losses: Any) -> dict[int, float]:
    """Losses in [0, 1] by index."""
    values = as_numbers("losses", losses)
    wrong = np.flatnonzero(~((values >= 0.0) & (values <= 1.0)))
    if wrong.size:
        raise ValueError(
            "`losses` must lie in [0, 1] to be compared with a baseline, got "
            f"{values[wrong[0]]:g} for index {np.asarray(indices)[wrong[0]]}; scale them, or say "
            "their range in a graphcb.Problem"
        )
    return dict(zip(np.asarray(indices).tolist(), values.tolist(), strict=True))
