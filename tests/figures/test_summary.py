from graphcb.estimates.intervals import Interval
from graphcb.evaluation.summary import LogSummary, Window
from graphcb.figures.curves import save
from graphcb.figures.summary import draw_summary


def summary(n_actions):
    names = [f"action {k}" for k in range(n_actions)]
    shares = dict.fromkeys(names, 1.0 / n_actions)
    windows = (
        Window(1, 50, 0.0, 1.0, 0.5, 25, 0.4, Interval(0.3, 0.5), shares),
        Window(51, 100, 1.0, 2.0, 0.0, 0, None, None, {names[0]: 1.0}),
        Window(101, 150, 2.0, 3.0, 1.0, 1, 0.2, None, shares),
    )
    whole = Interval(0.25, 0.4)
    return LogSummary(
        "reward", 150, 75, 80, (1.0,) * 4, (2.0,) * 4, 26, 0.3, whole, shares, windows
    )


def test_three_panels_with_names_and_units(tmp_path):
    figure = draw_summary(summary(3), "log.db")
    value, actions, feedback = figure.axes
    assert value.get_ylabel() == "mean reward"
    assert [text.get_text() for text in actions.get_legend().get_texts()] == [
        "action 0",
        "action 1",
        "action 2",
    ]
    assert feedback.get_xlabel() == "decision"
    assert (
        len(value.containers[0].lines[0].get_xdata()) == 2
    )  # the window without outcomes is left out
    save(figure, tmp_path / "summary.png")
    assert (tmp_path / "summary.png").stat().st_size > 1000


def test_many_actions_share_a_colour():
    actions = draw_summary(summary(12), "log.db").axes[1]
    texts = [text.get_text() for text in actions.get_legend().get_texts()]
    assert len(texts) == 8
    assert texts[-1] == "5 others"
