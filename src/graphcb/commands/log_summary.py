"""`graphcb log summary`: decisions, feedback, the loss over time and the actions of a log."""

import argparse
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from graphcb.commands.options import LOG, add_command
from graphcb.commands.outputs import FORCE, asked, check_outputs, log_files
from graphcb.commands.shown import CONFIDENCE
from graphcb.commands.tables import print_table
from graphcb.decisions import DecisionLog
from graphcb.estimates.intervals import interval_text
from graphcb.evaluation.summary import LogSummary, summarize

SHOWN = 20  # actions
OPTIONS = {
    **LOG,
    "--plot FILE": "draw it: .png, .svg or .pdf",
    "--json": "print JSON instead of tables",
    "--windows N=10": "parts of the log (default: 10)",
    **CONFIDENCE,
    **FORCE,
}


def add_summary(actions: Any) -> None:
    """Add the subcommand to those of `graphcb log`."""
    text = "decisions, feedback and its delay, the loss over time, the actions"
    add_command(actions, "summary", text, _summary, OPTIONS)


def _summary(options: argparse.Namespace) -> None:
    check_outputs(asked(options, {"plot": "picture"}), log_files(options.log), force=options.force)
    with DecisionLog(options.log) as log:
        found = summarize(log, n_windows=options.windows, confidence=options.confidence)
    if options.json:
        print(json.dumps(found.to_dict()))
    else:
        _print(found, options)
    if options.plot is not None:
        from graphcb.figures.curves import save
        from graphcb.figures.summary import draw_summary

        save(draw_summary(found, Path(options.log).name), options.plot)


def _print(found: LogSummary, options: argparse.Namespace) -> None:
    sure = f"{100 * options.confidence:g} %"
    windows = found.windows
    rows = [
        ("decisions", f"{found.n_decisions:,}"),
        *([("of these imported", f"{found.n_imported:,}")] if found.n_imported else []),
        *([("removed before these", f"{found.n_removed:,}")] if found.n_removed else []),
        ("made", f"{_time(windows[0].begins_at)} to {_time(windows[-1].ends_at)}"),
        ("with feedback", f"{found.n_with_feedback:,} ({found.feedback_share:.1%})"),
    ]
    if found.n_parts > found.n_with_feedback:
        rows.append(("parts of feedback", f"{found.n_parts:,}"))
    if found.n_waiting:
        rows.append(("in the inbox", f"{found.n_waiting:,} feedbacks for the next policy"))
    if found.n_by_default:
        share = found.n_by_default / found.n_decisions
        rows.append(("by default after waiting", f"{found.n_by_default:,} ({share:.1%})"))
    rows.append(("delay of feedback", _delays(found.delays)))
    if found.last_delays != found.delays:
        rows.append(("until its last part", _delays(found.last_delays)))
    rate = found.answer_rate
    if rate is not None and rate < 1.0:
        rows.append(("promised outcomes that came", f"{rate:.1%} where there is feedback"))
    if found.unseen_share > 0.0:
        why = f"not known: {found.unseen_share:.1%} of what was played could not have been revealed"
        rows.append((f"mean {found.unit}", why))
    else:
        rows.append((f"mean {found.unit}", _value(found.mean)))
        rows.append((f"normal {sure}", interval_text(found.interval)))
    if found.anytime is not None:
        rows.append((f"anytime-valid {sure}", interval_text(found.anytime)))
    print_table(f"log {Path(options.log).name}", rows)
    for text in (*found.warnings, *(f"warning: {note}" for note in found.notes)):
        print(text)
    if found.weights == "learned":
        print("reveal probabilities were learned, not known: means are as good as these")
    elif found.weights == "certain":
        print("means are of what is always revealed, wherever the hidden price is")
    print_table(
        "over time",
        [
            (
                f"{window.first:,} to {window.last:,}",
                _time(window.begins_at)[5:-3],
                f"{window.feedback_share:.1%}",
                _value(window.mean),
                interval_text(window.interval),
            )
            for window in windows
        ],
        ("decisions", "from", "with feedback", f"mean {found.unit}", f"normal {sure}"),
    )
    if found.weights != "known":
        _print_answers(found)
    if found.guardrails:
        promised = [(one.name, one.says, one.stands) for one in found.guardrails]
        print_table("what must hold", promised)
    if found.alarms:
        _print_alarms(found)
    shares = list(found.shares.items())
    shown = [(name, f"{share:.1%}") for name, share in shares[:SHOWN]]
    if len(shares) > SHOWN:
        rest = sum(share for _, share in shares[SHOWN:])
        shown.append((f"{len(shares) - SHOWN:,} others", f"{rest:.1%}"))
    print_table("actions", shown, ("action", "share"))


def _print_alarms(found: LogSummary) -> None:
    """What looked different, since when, and how sure that is."""
    rows = [
        (
            f"{one.kind} {one.name}",
            f"{one.since:,}",
            "-" if one.since_time is None else _time(one.since_time)[:-3],
            "still" if one.over is None else f"{one.over:,}",
            f"{one.raised:,}",
            f"{one.chance:.1g}",
        )
        for one in found.alarms[:SHOWN]
    ]
    print_table(
        "what looked different, by decisions",
        rows,
        ("of", "since", "made", "until", "known at", "chance"),
    )


def _print_answers(found: LogSummary) -> None:
    """How many outcomes came on average, and how many were promised and expected."""
    rows = [
        (
            one.action,
            f"{one.n:,}",
            "-" if one.promised is None else f"{one.promised:.2f}",
            f"{one.revealed:.2f}",
            "-" if one.learned is None else f"{one.learned:.2f}",
            "-" if one.rate is None else f"{one.rate:.1%}",
        )
        for one in found.answers[:SHOWN]
    ]
    print_table(
        "outcomes revealed, on average",
        rows,
        ("played", "with feedback", "promised", "came", "learned", "share that came"),
    )


def _time(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S")


def _value(mean: float | None) -> str:
    return "-" if mean is None else f"{mean:.4f}"


def _delays(delays: tuple[float, ...] | None) -> str:
    """Delays at the quantiles of `evaluation.summary`."""
    if delays is None:
        return "-"
    if max(delays) == 0.0:
        return "none recorded"
    low, middle, high, most = map(_duration, delays)
    return f"median {middle} (80 % between {low} and {high}, at most {most})"


def _duration(seconds: float) -> str:
    """A time in the unit that people would use.

    >>> [_duration(s) for s in (0.02, 42.0, 7200.0, 400_000.0)]
    ['0.02 s', '42 s', '2 h', '4.6 days']
    """
    for unit, size in (("days", 86400.0), ("h", 3600.0), ("min", 60.0)):
        if seconds >= 2 * size:
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds:.2g} s"
