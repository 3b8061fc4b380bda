from studies.limits import study as limits
from studies.limits.claims import LimitRuns
from studies.limits.figure import draw_budgets, draw_ratios


def runs():
    study = limits.read().made_quick()
    return LimitRuns(study, [study.play(setting) for setting in study.settings()])


def test_figures_show_every_budget_and_every_seed():
    known = runs()
    (axes,) = draw_budgets(known).axes
    assert [text.get_text() for text in axes.get_xticklabels()] == ["5 %", "20 %"]
    longest = [line for line in axes.lines if len(line.get_xdata()) == 2]
    assert len(longest) == 5 + 1  # agents, and none
    (axes,) = draw_ratios(known).axes
    seeds = [line for line in axes.lines if len(line.get_xdata()) == 200]
    assert len(seeds) == 2 * 2  # alone and with one epsilon
    line = next(line for line in axes.lines if len(line.get_xdata()) == 2)
    assert list(line.get_ydata()) == [1.1, 1.1]
    ours = [s for s in seeds if s.get_color() == line.get_color()]
    assert all(max(s.get_ydata()) <= 1.1 for s in ours)
