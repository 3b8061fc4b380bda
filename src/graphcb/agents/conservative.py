"""Conservative: an agent that is never worse than today's rule."""

import copy
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphcb.agents.baselines import (
    baseline_probabilities,
    check_baseline,
    check_inner,
    check_limits,
    names_of,
)
from graphcb.agents.deviation import CERTAIN, Deviation, Proof
from graphcb.agents.protocol import Agent, Played, gamma_of, hook
from graphcb.checks import as_losses, as_probabilities
from graphcb.describing import describe
from graphcb.estimates.intervals import check_confidence
from graphcb.estimates.sums import N_BETS, lower_end
from graphcb.graphs import FeedbackGraph
from graphcb.loaded import check_array, check_counts, check_numbers

Floats = NDArray[np.float64]

# A deviation whose gain has to be estimated plays the baseline with this probability too, or,
# once more than that is proven, with ENOUGH over what is proven.
SHARE = 0.5
ENOUGH = 16.0


class Conservative:
    share_, enough_ = SHARE, ENOUGH

    def __init__(
        self,
        agent: Agent,
        baseline: Any,
        *,
        epsilon: float = 0.1,
        loss: float | None = None,
        confidence: float = 0.95,
    ) -> None:
        if not 0.0 < epsilon < math.inf:
            raise ValueError(f"`epsilon` must be positive and finite, got {epsilon}")
        if loss is not None and not 0.0 <= loss <= 1.0:
            raise ValueError(f"`loss` must be a mean loss in [0, 1], got {loss}")
        check_confidence(confidence)
        self.agent, self.baseline = check_inner(agent), check_baseline(baseline)
        self.epsilon, self.loss, self.confidence = epsilon, loss, confidence
        self.n_rounds = self.n_deviations = 0
        self.proven = self.least = 0.0
        self.estimated = np.zeros(N_BETS)

    def act(self, context: Any, graph: FeedbackGraph, actions: Any = None, **given: Any) -> Floats:
        names = given.get("names")
        baseline = baseline_probabilities(self.baseline, context, graph, actions, names)
        check_limits(self.agent, baseline, names_of(graph.n_actions, actions, names))
        agents = as_probabilities(
            self.agent.act(context, graph, actions, **given), graph.n_actions
        )
        self.n_rounds += 1
        played = self._mixed(agents, baseline, graph)
        if self._deviation(played, baseline, graph).risk <= self.proven:
            return played
        return baseline

    def _mixed(self, agents: Floats, baseline: Floats, graph: FeedbackGraph) -> Floats:
        share = min(self.share_, self.enough_ / max(self.proven, 1e-9))
        needed = self._deviation(agents, baseline, graph).needed()
        if not needed.any():
            return agents
        q = graph.reveal_probabilities(agents)
        scarce = needed & (q < min(share, CERTAIN))
        if not (scarce & (graph.reveal_probabilities(baseline) > q)).any():
            return agents
        return (1.0 - share) * agents + share * baseline

    def _deviation(self, played: Floats, baseline: Floats, graph: FeedbackGraph) -> Deviation:
        return Deviation(played, baseline, graph, self.epsilon, self.loss)

    def settle(self, played: Played) -> None:
        round = self._of(played)
        worst = round.given[played.action] + min(round.own[played.action], 0.0)
        self.n_deviations += round.total > 0.0
        self._count(round.proof(played.action, {}), None)
        self.proven = max(self.proven + worst, self._end())
        inner = hook(self.agent, "settle")
        if inner is not None:
            inner(played)

    def judge(self, played: Played, indices: Any, losses: Any) -> None:
        round = self._of(played)
        known = dict(getattr(played, "known", None) or {})
        before = round.proof(played.action, known)
        known.update(zip(np.asarray(indices).tolist(), np.asarray(losses).tolist(), strict=True))
        self._count(round.proof(played.action, known), before)
        self.proven = max(self.proven, self._end())
        inner = hook(self.agent, "judge")
        if inner is not None:
            inner(played, indices, losses)

    def learn(self, context: Any, actions: Any, losses: Any) -> None:
        self.agent.learn(context, actions, losses)

    def _of(self, played):
        baseline = baseline_probabilities(self.baseline, played.context, played.graph, played.actions)
        return self._deviation(played.probabilities, baseline, played.graph)

    def _count(self, proof: Proof, before: Proof | None) -> None:
        least, estimated = self.least + proof.least, self.estimated + proof.estimated
        if before is not None:
            least, estimated = least - before.least, estimated - before.estimated
        self.least, self.estimated = least, estimated

    def _end(self) -> float:
        return max(self.least, lower_end(self.estimated, 1.0 - self.confidence))
