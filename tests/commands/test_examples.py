"""Every help page has two examples, and each can be parsed."""

import shlex

import pytest

from graphcb.cli import _parser, main
from graphcb.commands.compile import _bar
from graphcb.commands.examples import EXAMPLES, commands_in, examples_of
from graphcb.commands.options import join_ranges


def pages(parser):
    yield parser.prog
    for _, inner in commands_in(parser):
        yield from pages(inner)


PAGES = sorted(pages(_parser()))


def test_every_page_has_examples_and_there_are_no_others():
    shown = [examples_of(page) for page in PAGES]
    assert {len(set(lines)) for lines in shown} == {2}
    assert {line for lines in shown for line in lines} == set(EXAMPLES)


@pytest.mark.parametrize("page", PAGES)
def test_the_examples_are_on_the_page_and_can_be_parsed(page, capsys):
    with pytest.raises(SystemExit):
        main([*page.split()[1:], "--help"])
    out = capsys.readouterr().out
    for line in examples_of(page):
        assert f"\n  {line}\n" in out
        assert page in line or page == "graphcb"
        words = shlex.split(line)
        _parser().parse_args(join_ranges(words[words.index("graphcb") + 1 :]))


def test_compiling_without_rich_says_how_far_it_is(monkeypatch, capsys):
    monkeypatch.setitem(__import__("sys").modules, "rich.progress", None)
    with _bar(7) as show:
        show("first")
        show("second")
    assert capsys.readouterr().out == "1 of at most 7: first\n2 of at most 7: second\n"
