"""What is said of a bake-off: tables, who beats graphcb's default where, and the grids."""

from graphcb.experiments.curves import Setting
from studies.bakeoff.ratios import Ranking, Score, Standing, feedback, geometric_mean
from studies.bakeoff.study import BakeOff, chosen_on
from studies.results import Rows, markdown_table

LEGEND = """\
A ratio is a mean loss divided by that of the best setting of all contenders on that stream, known
in hindsight. *Mean* is the geometric mean of the ratios, *ours* that of graphcb with nothing set on
the same streams, *worst* the largest. *Beats us* and *loses to us* count the streams on which the
loss differs from ours by more than two standard errors of the paired difference over seeds. *Best
of n* is chosen on each stream in hindsight. Learners of other packages take part where the feedback
is bandit feedback."""
CONSTANT = "best constant action"  # the name of that contender
HEAD = ("contender", "streams", "mean", "ours", "worst", "beats us", "loses to us")

MARGIN = """\
Which part of our margin is oracle, and which exploration: the loss of a rival at its default over
ours = that over its loss with our oracle (oracle) x the latter over ours (exploration). Geometric
means over the streams of a kind."""
SAME_ORACLE = """\
What exploration is worth, the oracle held fixed: all of these learn with `DefaultOracle`. Losses
divided by those of the default, geometric means. SquareCB.G has gamma = c sqrt(t)."""
SAME_HEAD = ("exploration", "all", "worst", "beats us", "loses to us")
BEST_OF_60 = """\
the best of 60 settings of version 0.1.0 on each stream, known in hindsight (SquareCB.G,
epsilon-greedy and greedy with linear oracles), a yardstick that stays"""
YARDSTICK = """\
Beside {}. Since 0.4.0 settings are chosen on the streams *chosen on*; the others were looked at
once or twice, at the end of a choice."""
SKYLINE = """\
Beside skylines, models of scikit-learn that see the losses of all actions and are refitted as data
grow (first seed): the share of the way from the best constant action to a skyline that we have gone
with what the feedback shows, summed over the streams of a kind. *Better* is the better of the
skylines on each stream."""
YARDSTICK_HEAD = ("streams", "number", "mean", "worst", "worse than the best constant by 2 %")
MARK = "†"
MARKED = f"{MARK} Since 0.4.0 settings are chosen on the streams with this mark, {{}} of {{}}."
MOST_NAMED = 4  # streams
STREAM_HEAD = ("stream", "constant", "best", "ours", "ratio", "who is best")


def rows(ranking: Ranking) -> list[tuple[str, ...]]:
    """The main table: one row per standing under `HEAD`.

    The mean of ours is over the streams that the contender plays.
    """
    ours = ranking.ours
    return [
        (
            one.label,
            str(len(one.ratios)),
            f"{one.geometric_mean:.3f}",
            f"{geometric_mean(ours.ratios[stream] for stream in one.ratios):.3f}",
            f"{one.worst[1]:.2f}",
            "-" if one is ours or ranking.n_paired == 1 else str(len(one.better)),
            "-" if one is ours or ranking.n_paired == 1 else str(len(one.worse)),
        )
        for one in ranking.standings
    ]


def losses_to_others(ranking: Ranking) -> list[str]:
    """Where somebody beats graphcb's default by more than two standard errors, by name."""
    ours = ranking.ours.scores
    texts = []
    for stream in ours:
        found = [one for one in ranking.standings if stream in one.better]
        if found:
            named = sorted(found, key=lambda one: one.scores[stream].mean)
            who = [
                f"{one.label}{_chosen(one.scores[stream])} {one.scores[stream].mean:.4f}"
                for one in named
            ]
            texts.append(f"{stream}, ours {ours[stream].mean:.4f}: {'; '.join(who)}")
    return texts


def _chosen(score: Score) -> str:
    return f" ({score.setting})" if score.setting else ""


def markdown(ranking: Ranking, bakeoff: BakeOff) -> str:
    """The report: main table, means by feedback, who beats us where, streams, grids."""
    ours = ranking.ours
    kinds = list(ours.by_feedback())
    counts = [sum(feedback(stream) == kind for stream in ours.ratios) for kind in kinds]
    of_kinds = [f"{kind} ({n})" for kind, n in zip(kinds, counts, strict=True)]
    by_kind = [(one.label, *_means(one, kinds)) for one in ranking.standings]
    beaten = losses_to_others(ranking) or [
        "Nowhere." if ranking.n_seeds > 1 else "Nobody can tell with one seed."
    ]
    parts = [
        f"Streams: {len(ours.ratios)}. Seeds: {ranking.n_seeds}.{_fewer(ranking)} {LEGEND}",
        markdown_table(HEAD, rows(ranking), align=":"),
    ]
    if any("yardstick" in spec for spec in bakeoff.streams.values()):
        text = YARDSTICK.format(bakeoff.yardstick_is or BEST_OF_60)
        text += f" {bakeoff.seen_is}" if bakeoff.seen_is else ""
        parts += [text, markdown_table(YARDSTICK_HEAD, beside_yardstick(ranking, bakeoff))]
    if ranking.skylines:
        beside = beside_skylines(ranking, bakeoff)
        parts += [SKYLINE, markdown_table(skyline_head(ranking), beside)]
    parts += [
        "Geometric means by kind of feedback (number of streams):",
        markdown_table(("contender", *of_kinds), by_kind, align=":"),
    ]
    split = margins(ranking, kinds)
    if split:
        parts += [MARGIN, markdown_table(("rival", "all", *of_kinds), split, align=":")]
    if ranking.same_oracle:
        same = [(*row, *_means(one, kinds)) for one, row in with_same_oracle(ranking)]
        parts += [SAME_ORACLE, markdown_table((*SAME_HEAD, *of_kinds), same, align=":")]
    parts += [
        "Where somebody beats us by more than two standard errors:",
        "\n".join(f"- {text}" for text in beaten),
        "Every stream:",
        markdown_table(STREAM_HEAD, by_stream(ranking, bakeoff), align=":"),
        MARKED.format(sum(map(chosen_on, bakeoff.streams.values())), len(bakeoff.streams)),
        "Grids, the default first:",
        "\n".join(f"- {text}" for text in grids(bakeoff)),
    ]
    if bakeoff.left_out:
        parts.append(f"Left out, as not installed: {', '.join(bakeoff.left_out)}.")
    return "\n\n".join(parts) + "\n"


def _fewer(ranking: Ranking) -> str:
    """That some have fewer seeds, if so."""
    if ranking.n_paired == ranking.n_seeds:
        return ""
    return (
        f" Who learns with another oracle has {ranking.n_paired}, and ratios to all contenders are "
        "of that; those between ways to explore with our oracle, and beside the yardstick, are of "
        "all seeds."
    )


def _means(one: Standing, kinds: list[str]) -> list[str]:
    means = one.by_feedback()
    return [f"{means[kind]:.3f}" if kind in means else "" for kind in kinds]


def margins(ranking: Ranking, kinds: list[str]) -> list[tuple[str, ...]]:
    """A row for each rival that also plays with our oracle: its margin, by kind of feedback."""
    defaults = {one.name: one.ratios for one in ranking.standings if one.is_default}
    ours = ranking.ours.ratios
    texts: list[tuple[str, ...]] = []
    for name, theirs in defaults.items():
        if f"{name}, our oracle" not in defaults:
            continue
        between, cells = defaults[f"{name}, our oracle"], []
        for kind in ("", *kinds):
            streams = [one for one in theirs if not kind or feedback(one) == kind]
            oracle = geometric_mean(theirs[one] / between[one] for one in streams)
            exploration = geometric_mean(between[one] / ours[one] for one in streams)
            cells.append(f"{oracle * exploration:.2f} = {oracle:.2f} x {exploration:.2f}")
        texts.append((name, *cells))
    return texts


def by_stream(ranking: Ranking, bakeoff: BakeOff) -> list[tuple[str, ...]]:
    """A row per stream under `STREAM_HEAD`, by our ratio; those chosen on have a mark."""
    ours, best = ranking.ours, ranking.best
    constant = next((one.scores for one in ranking.standings if one.name == CONSTANT), {})
    return [
        (
            f"{stream} {MARK}" if chosen_on(bakeoff.streams[stream]) else stream,
            f"{constant[stream].mean:.4f}" if stream in constant else "",
            f"{best[stream][1].mean:.4f}",
            f"{ours.scores[stream].mean:.4f}",
            f"{ours.ratios[stream]:.3f}",
            best[stream][0] + _chosen(best[stream][1]),
        )
        for stream in sorted(ours.ratios, key=lambda stream: ours.ratios[stream])
    ]


def with_same_oracle(ranking: Ranking) -> list[tuple[Standing, tuple[str, ...]]]:
    """Each way to explore with our oracle, and its row under `SAME_HEAD`."""
    tells = ranking.n_seeds > 1
    return [
        (
            one,
            (
                one.label,
                f"{one.geometric_mean:.3f}",
                f"{one.worst[1]:.2f}",
                *(str(len(found)) if tells else "-" for found in (one.better, one.worse)),
            ),
        )
        for one in ranking.same_oracle
    ]


def beside_yardstick(ranking: Ranking, bakeoff: BakeOff) -> list[tuple[str, ...]]:
    """Losses over the `yardstick` of each stream: ours on all, chosen on or not, and others'."""
    ours, specs = ranking.ours.scores, bakeoff.streams
    constant = next(one.scores for one in ranking.standings if one.name == CONSTANT)
    groups = {
        "all": list(ours),
        f"chosen on {MARK}": [stream for stream in ours if chosen_on(specs[stream])],
        "the others": [stream for stream in ours if not chosen_on(specs[stream])],
    }
    found = [(name, ours, streams) for name, streams in groups.items() if streams]
    found += [(f"all, {one.label}", one.scores, list(ours)) for one in ranking.same_oracle]
    texts: list[tuple[str, ...]] = []
    for name, scores, streams in found:
        ratios = {stream: scores[stream].mean / specs[stream]["yardstick"] for stream in streams}
        worst = max(streams, key=lambda stream: ratios[stream])
        worse = [one for one in streams if scores[one].mean > 1.02 * constant[one].mean]
        named = ", ".join(worse) if len(worse) <= MOST_NAMED else str(len(worse))
        mean = f"{geometric_mean(ratios.values()):.3f}"
        texts.append(
            (name, str(len(streams)), mean, f"{ratios[worst]:.2f} ({worst})", named or "none")
        )
    return texts


def skyline_head(ranking: Ranking) -> tuple[str, ...]:
    """The names above `beside_skylines`."""
    return ("feedback", "streams", "constant", "ours", *ranking.skylines, "share", "of better")


def beside_skylines(ranking: Ranking, bakeoff: BakeOff) -> list[tuple[str, ...]]:
    """For each kind of feedback, mean losses and the share of the way to the first skyline."""
    skylines = ranking.skylines
    n = min(len(score.losses) for scores in skylines.values() for score in scores.values())
    ours, constant = (
        {stream: score.first(n) for stream, score in one.scores.items()}
        for one in (
            ranking.ours,
            next(one for one in ranking.standings if one.name == CONSTANT),
        )
    )
    first = next(iter(skylines.values()))
    kinds: dict[str, list[str]] = {}
    for stream in first:
        kinds.setdefault(feedback(stream), []).append(stream)
    texts: list[tuple[str, ...]] = []
    kinds["all"] = list(first)
    halves = [[s for s in first if chosen_on(bakeoff.streams[s]) == half] for half in (True, False)]
    kinds |= {f"chosen on {MARK}": halves[0], "the others": halves[1]}
    for kind, streams in kinds.items():
        if not streams:
            continue
        least = sum(min(sky[stream].mean for sky in skylines.values()) for stream in streams)
        sums = [
            sum(scores[stream].mean for stream in streams)
            for scores in (constant, ours, *skylines.values())
        ]
        means = [f"{total / len(streams):.4f}" for total in sums]
        shares = [share(sums[0], sums[1], best) for best in (sums[2], least)]
        texts.append((kind, str(len(streams)), *means, *shares))
    return texts


def share(constant: float, ours: float, best: float) -> str:
    """How much of the way from one loss to another is gone, in words.

    >>> share(0.5, 0.2, 0.1), share(0.1, 0.1, 0.2)
    ('0.75', '-')
    """
    return f"{(constant - ours) / (constant - best):.2f}" if best < constant else "-"


def grids(bakeoff: BakeOff) -> list[str]:
    """What each contender tried, in words."""
    texts = []
    for one in bakeoff.present:
        settings = [
            one.written(Setting(one.label, "", rate, c, 0))
            for rate in one.learning_rate
            for c in one.c
        ]
        if any(settings):
            texts.append(f"{one.name}: {'; '.join(settings)}")
    return texts


def ratio_table(ranking: Ranking) -> Rows:
    """One line for each contender, choice and stream."""
    return Rows(
        "ratios",
        ("contender", "choice", "stream", "setting", "mean_loss", "ratio"),
        [
            (one.name, one.choice, stream, score.setting, score.mean, one.ratios[stream])
            for one in ranking.standings
            for stream, score in one.scores.items()
        ],
    )
