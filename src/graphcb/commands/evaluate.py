"""`graphcb evaluate`: the loss of a policy, estimated from the decision log of another."""

import argparse
from typing import TYPE_CHECKING

from graphcb.commands.command import Commands
from graphcb.commands.ranges import add_loss_range
from graphcb.commands.tables import print_table

if TYPE_CHECKING:
    from graphcb.decisions import DecisionLog, Versions
    from graphcb.evaluation import Estimate, Evaluation, Interval
    from graphcb.oracles import Oracle
    from graphcb.problems import Problem


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    parser = commands.add_parser(
        "evaluate",
        help="estimate a policy's loss or reward from a decision log before deploying it",
    )
    parser.add_argument("log", metavar="LOG", help="a file, or postgresql://user@host/database")
    parser.add_argument(
        "--policy",
        required=True,
        metavar="POLICY",
        help="uniform, logged (the policy that wrote the log), constant:ACTION (a name, or another "
        "identifier, as in feedback), MODEL.npz (an agent written by graphcb.save, as it is), "
        "greedy:MODEL.npz (the action that looks best to it), PROBLEM.toml (a new learner for "
        "another problem, which learns along the log) or shadow (the agent behind the baseline of "
        "this log, compared with what was played)",
    )
    parser.add_argument(
        "--after",
        type=int,
        default=0,
        metavar="EVENT",
        help="use later decisions only: those that a model was not trained on",
    )
    parser.add_argument(
        "--version", type=int, metavar="N", help="use the decisions of one version of the log only"
    )
    add_loss_range(parser, default="that of the log's problem, else 0,1")
    parser.add_argument(
        "--confidence",
        type=float,
        default=0.95,
        metavar="SHARE",
        help="how often the intervals are right (default: %(default)g)",
    )
    parser.set_defaults(command=_evaluate)


def _evaluate(options: argparse.Namespace) -> None:
    from graphcb.decisions import DecisionLog, Versions
    from graphcb.evaluation import Target, candidate, evaluate, logged, shadow, weighing_graphs
    from graphcb.evaluation.targets import read_target
    from graphcb.problems import Problem

    target: Target | None
    if options.policy.endswith(".toml"):
        target = candidate(Problem.read(options.policy))
    else:
        target = None if options.policy == "shadow" else read_target(options.policy)
    with DecisionLog(options.log) as log:
        versions, is_imported = log.versions, log.is_imported
        if options.version is not None:
            versions = Versions([versions.numbered(options.version)])
        known, problem = versions.range, versions.last.problem
        if problem is not None and options.loss_range is not None:
            low, high = known or problem.range
            raise ValueError(
                f"`--loss-range` must not be given: the log's problem says {low:g} to {high:g}"
            )
        chosen = {version.number for version in versions}
        found = evaluate(
            (row for row in log if row.position > options.after and row.version in chosen),
            target or shadow(log),
            against=None if target else logged,
            oracle=_untrained_oracle(log, versions),
            graphs=None if log.informed else weighing_graphs(log),
            loss_range=options.loss_range or known,
            confidence=options.confidence,
        )
    _print(found, options, problem)
    if options.policy == "shadow":
        _print_gain(found, options, problem)
    if found.doubly_robust is None and found.unseen_share == 0.0:
        lacks = "the agent of this log has no oracle that graphcb can read"
        if is_imported:
            lacks = "this log was imported without the probabilities of all actions"
        print(f"doubly robust: {lacks}")


def _untrained_oracle(log: "DecisionLog", versions: "Versions") -> "Oracle | None":
    """The oracle with which the log was created, if graphcb can read it.

    Where the problem was changed, that of a new learner which has the actions of all versions.
    """
    from graphcb.saving import from_bytes

    if len(log.versions) > 1 or log.start.position:
        return _oracle_for_all(versions)
    try:
        agent = from_bytes(log.start.agent, where=log.storage.location)
    except ValueError:  # a class that is not part of graphcb
        return None
    oracle: Oracle | None = getattr(agent, "oracle", None)
    return oracle


def _oracle_for_all(versions: "Versions") -> "Oracle | None":
    from graphcb.problems import Learner, Problem

    problems = [version.problem for version in versions if version.problem is not None]
    fixed = [one.actions for one in problems if isinstance(one.actions, tuple)]
    if len(problems) < len(versions) or len(fixed) not in (0, len(problems)):
        return None
    last = problems[-1]
    features = last.features if all(one.features == last.features for one in problems) else None
    return Learner(
        Problem(
            list(dict.fromkeys(name for names in fixed for name in names)) or "each round",
            feedback=last.feedback,
            range=versions.range or last.range,
            features=features,
        )
    )


def _print(found: "Evaluation", options: argparse.Namespace, problem: "Problem | None") -> None:
    unit = "loss" if problem is None else problem.unit
    better = " (larger is better)" if unit == "reward" else ""
    sure = f"{100 * options.confidence:g} %"
    print_table(
        f"mean {unit} of {options.policy}{better}",
        [
            ("with the graph", *_cells(found.graph)),
            ("doubly robust", *_cells(found.doubly_robust)),
            ("plain", *_cells(found.plain)),
        ],
        ("estimate", "mean", "std. error", f"normal {sure}", f"anytime-valid {sure}"),
    )
    silent = f", {found.n_silent:,} that reveal nothing beside these" if found.n_silent else ""
    print(
        f"{found.n_used:,} of {found.n_decisions:,} decisions; left out: "
        f"{found.n_without_feedback:,} without feedback, {found.n_incomplete:,} with part of it"
        f"{silent}"
    )
    if found.weights == "learned":
        print(
            "reveal probabilities were learned, not known: the estimates with the graph and doubly "
            "robust are as good as these; their intervals leave out the error in them, and none is "
            "anytime-valid"
        )
    elif found.weights == "certain":
        print(
            "reveal probabilities are those of what is always revealed; what a hidden price "
            f"reveals by chance depends on the {unit}, and was left out"
        )
    if found.unseen_share > 0.0:
        print(
            f"not known: {found.unseen_share:.1%} of this policy's play is on actions whose {unit} "
            "could not have been revealed"
        )
        if found.bounds is not None:
            print(f"anytime-valid {sure}, whatever these are: {_interval(found.bounds)}")
        if found.guess is not None:
            print(f"a guess, by what the oracle predicts of them: {found.guess:.4f}")
    elif found.plain is None:
        print(f"plain: {_why_not_plain(found, unit)}")


def _print_gain(
    found: "Evaluation", options: argparse.Namespace, problem: "Problem | None"
) -> None:
    """What the shadow would have gained on what was played, per decision."""
    if found.difference is None:
        print("gain on what was played: cannot be estimated from what was revealed")
        return
    sign = 1.0 if problem is not None and problem.unit == "reward" else -1.0
    sure = f"{100 * options.confidence:g} %"
    intervals = {"normal": found.difference.normal, "anytime-valid": found.difference.anytime}
    text = "; ".join(
        f"{kind} {sure}: {_gained(interval, sign)}"
        for kind, interval in intervals.items()
        if interval is not None
    )
    print(f"gain on what was played: {sign * found.difference.value:.4f} per decision ({text})")


def _gained(interval: "Interval", sign: float) -> str:
    lower, upper = sorted((sign * interval.lower, sign * interval.upper))
    return f"{lower:.4f} to {upper:.4f}"


def _why_not_plain(found: "Evaluation", unit: str) -> str:
    silent = found.silent_share
    unplayed = found.plain_unseen_share - silent
    parts = []
    if silent > 0.0:
        when = "" if found.weights == "known" else "always "
        parts.append(f"{silent:.1%} of this policy's play is on actions that do not {when}reveal "
                     f"their own {unit}")  # fmt: skip
    if unplayed > 1e-12:
        parts.append(f"{unplayed:.1%} of this policy's play is on actions that the logged policy "
                     "never played")  # fmt: skip
    return "; ".join(parts)


def _cells(estimate: "Estimate | None") -> tuple[str, str, str, str]:
    if estimate is None:
        return "-", "-", "-", "-"
    return (
        f"{estimate.value:.4f}",
        f"{estimate.standard_error:.4f}",
        _interval(estimate.normal),
        _interval(estimate.anytime),
    )


def _interval(interval: "Interval | None") -> str:
    return "-" if interval is None else f"{interval.lower:.4f} to {interval.upper:.4f}"
