"""From a log to the estimated loss of another policy."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from graphcb.checks import as_range
from graphcb.decisions import DecisionLog, LoggedDecision
from graphcb.estimates.estimate import Estimate, WeightSpread
from graphcb.estimates.intervals import Interval, check_confidence
from graphcb.evaluation.defaulting import own_alone
from graphcb.evaluation.estimating import Estimating, Scale, best_name
from graphcb.evaluation.rounds import Rounds
from graphcb.evaluation.settling import Settling
from graphcb.evaluation.targets import Target
from graphcb.evaluation.weighing import Graphs, Weights, weighed, weighing_graphs, weights_of
from graphcb.html import interval, paragraphs, table
from graphcb.oracles import Oracle


@dataclass(frozen=True)
class Evaluation:
    """What a log says about a policy; `is_known` if all that it plays needs no feedback.

    `estimates` has every estimate by its name: "with the graph", which `log summary` and the page
    of the service show as well, also as `graph`; "plain" and "inverse propensity", which use the
    loss of the played action alone; "doubly robust" and "switch", which use what an oracle
    predicts; "clipped", whose weights are cut, and "log smoothing". `best` names the one to
    prefer, whether or not the target was lucky. An estimate is left out, or its interval None, if
    the log does not support it: if part of what the policy plays, `unseen_share`, is on actions
    whose loss could not have been revealed, there is none, and only `bounds` hold, which count
    this share at both ends of the range; `guess` is what the oracle makes of it. `spread` says how
    many decisions carry the weight, and `warnings` what speaks against the estimates.
    `plain_unseen_share` is the share on actions that could not have been played and shown their
    own loss, and `silent_share` the part of it on actions that never show their own loss.
    `difference` is by how much the mean loss is larger than that of the policy it was compared
    with.

    `Settling` says which decisions count. `n_silent` reveal nothing and are left out with one
    whose feedback is missing, or wait for the next one. `n_young` have not waited long enough for
    a default. If feedback is missing more often for
    some actions than for others, `answers_alike` is False: decisions that count stand for those
    that do not, and no interval is anytime-valid.

    `weights` says where the reveal probabilities come from, see `weighing_graphs`. If they are
    "learned", not "known", all estimates but `plain` are as good as these: they have no
    anytime-valid interval, and the normal one leaves out the error of the probabilities. If they
    are "certain", only what was revealed for certain is used.
    """

    n_decisions: int
    n_without_feedback: int
    n_incomplete: int
    unseen_share: float
    plain_unseen_share: float
    estimates: dict[str, Estimate]
    best: str | None
    spread: WeightSpread
    silent_share: float = 0.0
    difference: Estimate | None = None
    weights: Weights = "known"
    n_silent: int = 0
    bounds: Interval | None = None
    guess: float | None = None
    warnings: tuple[str, ...] = ()
    answers_alike: bool = True
    n_young: int = 0
    is_known: bool = False
    has_range: bool = True

    def plot(self, *, title: str = "", unit: str = "loss") -> Any:
        """A matplotlib figure: each estimate with its interval."""
        figures = import_module("graphcb.figures.estimates")  # which needs the extra `experiments`
        return figures.draw_estimates(list(self.estimates.items()), title=title, unit=unit)

    def _repr_html_(self) -> str:
        rows: list[Sequence[Any]] = [
            (name, one.value, interval(one.interval), interval(one.anytime))
            for name, one in self.estimates.items()
        ]
        if self.bounds is not None:
            rows.append(("bounds, whatever was not seen", "", "", interval(self.bounds)))
        heads = ("estimate", "value", "interval", "at any time")
        title = f"{self.n_used:,} of {self.n_decisions:,} decisions"
        return table(title, rows, heads) + paragraphs(self.warnings)

    @property
    def graph(self) -> Estimate | None:
        """The estimate with the graph."""
        return self.estimates.get("with the graph")

    @property
    def plain(self) -> Estimate | None:
        """The self-normalised estimate from what was played alone."""
        return self.estimates.get("plain")

    @property
    def doubly_robust(self) -> Estimate | None:
        """The estimate around what an oracle predicts."""
        return self.estimates.get("doubly robust")

    @property
    def n_used(self) -> int:
        """The number of decisions that the estimates are based on."""
        left_out = self.n_without_feedback + self.n_incomplete + self.n_young
        return self.n_decisions - left_out - self.n_silent


def evaluate(
    rows: Iterable[LoggedDecision],
    target: Target,
    *,
    against: Target | None = None,
    oracle: Oracle | None = None,
    loss_range: tuple[float, float] | None = None,
    confidence: float = 0.95,
    graphs: Graphs | None = None,
) -> Evaluation:
    """Estimate the mean loss of `target` from the decisions of a log.

    `rows` is a `DecisionLog` or a part of one. An untrained `oracle` adds the doubly robust
    estimate: a copy of it predicts each round before learning from it. With `against`, another
    target, the difference of the two is estimated too, round by round, which is much sharper than
    two intervals. All losses must lie in `loss_range`, which intervals never leave; left out, it
    is that of the log's problem, or of all its versions together. Where these say none, it is 0 to
    1 if all losses lie there; otherwise `has_range` is False, no interval is anytime-valid, and
    normal ones need more decisions. If the problem has rewards, all losses here are rewards.
    Decisions without feedback are left out, as are those whose feedback lacks a loss that the graph
    always reveals; others of the same action stand for them, which is right if feedback is missing
    at random among these. A policy that was trained on these rows looks better than it is: evaluate
    it on later ones.

    Where nobody knew what would be revealed, `graphs` gives the graph by which a decision is
    weighed; if `rows` is a whole log, it is `weighing_graphs(log)`.

    >>> import tempfile, pathlib, graphcb
    >>> from graphcb.evaluation import constant
    >>> file = pathlib.Path(tempfile.mkdtemp()) / "decisions.db"
    >>> with graphcb.Policy(file, graphcb.Uniform(), seed=0) as policy:
    ...     for _ in range(100):
    ...         made = policy.decide(None, graphcb.graphs.full_information(2))
    ...         receipt = policy.feedback(made.decision_id, {0: 0.25, 1: 0.75})
    >>> with graphcb.DecisionLog(file) as log:
    ...     evaluate(log, constant(1)).graph.value
    0.75
    """
    check_confidence(confidence)
    if loss_range is None and isinstance(rows, DecisionLog):
        loss_range = rows.versions.range
    scale = (0.0, 1.0) if loss_range is None else as_range("loss_range", loss_range)
    targets = [target] if against is None else [target, against]
    rounds = Rounds(targets, oracle, scale, is_guessed=loss_range is None)
    settling = Settling()
    if graphs is None and isinstance(rows, DecisionLog) and not rows.informed:
        graphs = weighing_graphs(rows)
    weights: Weights = "known"
    for logged_row in rows:
        own = own_alone(logged_row)
        row = weighed(own, graphs)
        if weights != "learned":
            weights = weights_of(own, row)
        for settled in settling.add(own, row):
            rounds.add(settled)
    if settling.n_used == 0:
        raise ValueError(
            f"the log must have decisions with complete feedback, got {settling.n} decisions, "
            f"{settling.n_without_feedback} of them without feedback, {settling.n_incomplete} "
            f"with part of it and {settling.n_silent} that reveal nothing"
            + (f"; {settling.n_young} have not waited long enough" if settling.n_young else "")
        )
    return _judged(rounds, settling, weights, confidence)


def _judged(rounds: Rounds, settling: Settling, weights: Weights, confidence: float) -> Evaluation:
    terms, answers = rounds.terms(), settling.answers
    mine = terms[0]
    estimating = Estimating(
        Scale(rounds.low, rounds.width),
        answers,
        answers.stands_for[rounds.groups],
        confidence,
        has_true_weights=weights != "learned",
        has_range=rounds.within_range,
    )
    moments, found = estimating.with_graph(terms[:2])
    unseen, has_oracle = float(mine.unseen.mean()), rounds.oracle is not None
    every = estimating.every(mine, found[0], has_oracle=has_oracle)
    guess = every["doubly robust"].value if has_oracle and unseen > 0.0 else None
    if unseen > 0.0:
        every = {}
    compared = len(terms) > 1
    return Evaluation(
        settling.n,
        settling.n_without_feedback,
        settling.n_incomplete,
        unseen,
        float(mine.plain_unseen.mean()),
        every,
        best_name(every, rounds.explained),
        found[0].weights,
        float(mine.silent.mean()),
        estimating.difference(moments, *terms) if compared else None,
        weights,
        settling.n_silent,
        every["with the graph"].anytime if mine.is_known else estimating.bounds(mine.terms),
        guess,
        found[0].warnings if unseen == 0.0 and not mine.is_known else (),
        answers.are_alike,
        settling.n_young,
        mine.is_known,
        rounds.within_range,
    )
