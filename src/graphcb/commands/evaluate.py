"""`graphcb evaluate`: the loss of a policy, estimated from the decision log of another."""

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from graphcb.commands.evaluate_table import (
    add_table_options,
    evaluate_a_table,
    looks_like_a_table,
    refuse_table_options,
)
from graphcb.commands.options import Commands, add_command, add_options, loss_range
from graphcb.commands.outputs import log_files
from graphcb.commands.shown import (
    CONFIDENCE,
    OUTPUT,
    ShownEstimate,
    as_json,
    check_options,
    chosen,
    gain_text,
    print_json,
    show_table,
    write_outputs,
)
from graphcb.decisions import DecisionLog, Versions
from graphcb.estimates.intervals import interval_text
from graphcb.evaluation import (
    Evaluation,
    Target,
    candidate,
    evaluate,
    logged,
    shadow,
    weighing_graphs,
)
from graphcb.evaluation.estimating import WITHOUT_RANGE
from graphcb.evaluation.targets import read_target
from graphcb.oracles import Oracle
from graphcb.problems import Learner, Problem, Recorded
from graphcb.saving import from_bytes

LOG = {"LOG": "a file, postgresql://user@host/database, or a table of decisions (see below)"}
OPTIONS = {
    "--after EVENT=0": "use later decisions only: those that a model was not trained on",
    "--version N": "use the decisions of one version of the log only",
    **loss_range("that of the log's problem, else 0,1 if all lie there"),
    **CONFIDENCE,
    "--guess": "where the log cannot tell, show what the oracle makes of it: a guess, without an "
    "interval",
    **OUTPUT,
}
SHOWN = ("n_decisions", "n_used", "n_without_feedback", "n_incomplete", "n_young", "unseen_share",
         "bounds", "best")  # fmt: skip
USUAL = ("with the graph", "doubly robust", "plain")  # shown if nothing is said


def add_to(commands: Commands) -> None:
    """Add the command to the parser."""
    text = "estimate a policy's loss or reward from a log or a table before deploying it"
    parser = add_command(commands, "evaluate", text, _evaluate, LOG)
    parser.add_argument(
        "--policy",
        required=True,
        action="append",
        metavar="POLICY",
        help="uniform, logged (the policy that wrote the log), constant:ACTION (a name, or another "
        "identifier, as in feedback), MODEL.npz (an agent written by graphcb.save, as it is), "
        "greedy:MODEL.npz (the action that looks best to it), PROBLEM.toml (a new learner for "
        "another problem, which learns along the log) or shadow (the agent behind the baseline of "
        "this log, compared with what was played). Give it several times to compare the others "
        "with the first",
    )
    add_options(parser, OPTIONS)
    add_table_options(parser)


def _evaluate(options: argparse.Namespace) -> None:
    if looks_like_a_table(options.log):
        evaluate_a_table(options)
        return
    refuse_table_options(options)
    check_options(options, log_files(options.log))
    targets = {text: _target(text) for text in options.policy}
    with DecisionLog(options.log) as log:
        versions = log.versions
        if options.version is not None:
            versions = Versions([versions.numbered(options.version)])
        found = _judge(log, versions, targets, options)
        problem, n_imported, n_removed = versions.last.problem, log.n_imported, log.n_removed
    unit = "loss" if problem is None else problem.unit
    recorded = [version.recorded for version in versions if version.recorded is not None]
    lines = [
        ShownEstimate(policy, name, estimate, name == one.best)
        for policy, one in found.items()
        for name, estimate in one.estimates.items()
    ]
    lines = chosen(lines, options, USUAL[:1] if len(found) > 1 else USUAL)
    if options.json:
        print_json(_as_json(found, lines, unit, options))
    else:
        for policy in found:
            if len(found) == 1 or options.all:
                mine = [line for line in lines if line.policy == policy]
                show_table(_title(policy, unit), mine, options)
        if len(found) > 1 and not options.all:
            show_table(_title("policies", unit), lines, options)
        for policy, one in found.items():
            start = f"{policy}: " if len(found) > 1 else ""
            _print_about(start, one, options, unit, recorded)
            if recorded and n_imported < one.n_decisions:
                print(
                    f"{start}{n_imported:,} of the decisions were imported from "
                    f"{recorded[-1].source}; --version 1 uses these alone"
                )
            is_shadow, first = policy == "shadow", next(iter(found))
            named = ("", "what was played") if is_shadow else (policy, first)
            if one.difference is not None:
                print(gain_text(*named, one.difference, options, unit=unit))
            elif is_shadow:
                print("gain on what was played: cannot be estimated from what was revealed")
        if n_removed:
            print(
                f"{n_removed:,} older decisions were removed from the log: all of this is about "
                "those that are left"
            )
    write_outputs(lines, options, unit=unit, title=Path(options.log).name)


def _judge(
    log: DecisionLog,
    versions: Versions,
    targets: Mapping[str, Target | None],
    options: argparse.Namespace,
) -> dict[str, Evaluation]:
    """What the log says about each policy; all but the first are compared with it."""
    found, first, known = {}, next(iter(targets)), versions.range
    if known is not None and options.loss_range is not None:
        low, high = known
        raise ValueError(
            f"`--loss-range` must not be given: the log's problem says {low:g} to {high:g}"
        )
    numbers = {version.number for version in versions}
    for text, target in targets.items():
        against: Target | None = logged if target is None else None
        if text != first:
            against = _target(first) or shadow(log)
        found[text] = evaluate(
            (row for row in log if row.position > options.after and row.version in numbers),
            target or shadow(log),
            against=against,
            oracle=_untrained_oracle(log, versions),
            graphs=None if log.informed else weighing_graphs(log),
            loss_range=options.loss_range or known,
            confidence=options.confidence,
        )
    return found


def _target(text: str) -> Target | None:
    """A policy from its text; None for a shadow, which needs the log."""
    if text == "shadow":
        return None
    return candidate(Problem.read(text)) if text.endswith(".toml") else read_target(text)


def _untrained_oracle(log: DecisionLog, versions: Versions) -> Oracle | None:
    """The oracle with which the log was created, if graphcb can read it.

    Where the problem was changed, that of a new learner which has the actions of all versions.
    """
    recorded = [version.recorded for version in versions if version.recorded is not None]
    if any(not one.all_probabilities for one in recorded):
        return None
    if len(log.versions) > 1 or log.start.position:
        return _oracle_for_all(versions)
    try:
        agent = from_bytes(log.start.agent, where=log.storage.location)
    except ValueError:  # a class that is not part of graphcb
        return None
    oracle: Oracle | None = getattr(agent, "oracle", None)
    return oracle


def _oracle_for_all(versions: Versions) -> Oracle | None:
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
            range=versions.range,
            features=features,
        )
    )


def _title(policy: str, unit: str) -> str:
    return f"mean {unit} of {policy}" + (" (larger is better)" if unit == "reward" else "")


def _print_about(
    start: str,
    found: Evaluation,
    options: argparse.Namespace,
    unit: str,
    recorded: list[Recorded],
) -> None:
    """What the estimates rest on, and what the log cannot tell."""
    young = f", {found.n_young:,} younger than the waiting time" if found.n_young else ""
    silent = f", {found.n_silent:,} that reveal nothing beside these" if found.n_silent else ""
    print(
        f"{start}{found.n_used:,} of {found.n_decisions:,} decisions; left out: "
        f"{found.n_without_feedback:,} without feedback, {found.n_incomplete:,} with part of it"
        f"{young}{silent}"
    )
    for text in _sentences(found, options, unit):
        print(start + text)
    if found.doubly_robust is None and found.unseen_share == 0.0 and not found.is_known:
        lacks = "the agent of this log has no oracle that graphcb can read"
        if recorded and not recorded[-1].all_probabilities:
            lacks = "this log was imported without the probabilities of all actions"
        print(f"{start}doubly robust: {lacks}")


def _sentences(found: Evaluation, options: argparse.Namespace, unit: str) -> Iterator[str]:
    sure = f"{100 * options.confidence:g} %"
    if found.is_known:
        yield f"every {unit} of this policy is known without feedback: nothing is estimated"
        return
    if not found.answers_alike:
        yield (
            "feedback is missing more often for some actions than for others: decisions that "
            "count stand for those of the same action that do not, and no interval is anytime-valid"
        )
    if not found.has_range:
        yield f"{WITHOUT_RANGE.format(unit=unit)}; give it with --loss-range if you know it"
    if found.weights == "learned":
        yield (
            "reveal probabilities were learned, not known: the estimates with the graph and doubly "
            "robust are as good as these; their intervals leave out the error in them, and none is "
            "anytime-valid"
        )
    elif found.weights == "certain":
        yield (
            "reveal probabilities are those of what is always revealed; what a hidden price "
            f"reveals by chance depends on the {unit}, and was left out"
        )
    if found.unseen_share > 0.0:
        yield (
            f"not known: {found.unseen_share:.1%} of this policy's play is on actions whose {unit} "
            "could not have been revealed"
        )
        if found.bounds is not None:
            yield f"anytime-valid {sure}, whatever these are: {interval_text(found.bounds)}"
        if found.guess is not None and options.guess:
            yield f"a guess, by what the oracle predicts of them: {found.guess:.4f}"
    elif found.plain is None:
        yield f"plain: {_why_not_plain(found, unit)}"
    yield from found.warnings


def _as_json(
    found: Mapping[str, Evaluation],
    lines: list[ShownEstimate],
    unit: str,
    options: argparse.Namespace,
) -> dict[str, Any]:
    about = {
        policy: {
            **{name: getattr(one, name) for name in SHOWN},
            "guess": one.guess if options.guess else None,
            "effective_size": one.spread.effective_size,
            "largest_weight": one.spread.largest,
            "top_share": one.spread.top_share,
            "difference": None
            if one.difference is None
            else as_json([ShownEstimate(policy, "difference", one.difference)])[0],
            "notes": list(_sentences(one, options, unit)),
        }
        for policy, one in found.items()
    }
    return {
        "unit": unit,
        "confidence": options.confidence,
        "estimates": as_json(lines),
        "policies": about,
    }


def _why_not_plain(found: Evaluation, unit: str) -> str:
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
