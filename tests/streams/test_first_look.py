"""Columns by pattern, and rewards."""

import pytest

from graphcb.streams import BadRows, ReadOptions, Source, first_look


def write(path, text):
    (path / "a.csv").write_text(text)
    return Source(str(path / "a.csv"))


def read(source, **options):
    reading = first_look(source, ReadOptions(**options))
    (examples,) = reading.read(source, BadRows(source.name))
    return reading, examples


def test_columns_by_pattern(tmp_path):
    source = write(tmp_path, "x1,stock_1,x2,stock_2,y\n1,2,3,4,5\n2,3,4,5,6\n")
    reading, examples = read(source, losses=("stock*",), features=("x?",), categorical=("x[2]",))
    assert reading.targets.actions == ("stock_1", "stock_2")
    assert reading.encoder.kinds == {"x1": "number", "x2": "category"}
    assert examples.losses.tolist() == [[2, 4], [3, 5]]
    with pytest.raises(ValueError, match=r"`--losses` must name a column of the file .* got 'b\*'"):
        read(source, losses=("b*",))


def test_a_column_whose_name_is_a_pattern_is_that_column(tmp_path):
    reading, _ = read(write(tmp_path, "a*,ab,c\n1,2,3\n2,4,5\n"), losses=("a*", "c"))
    assert reading.targets.actions == ("a*", "c")


def test_rewards_are_losses_the_other_way_round(tmp_path):
    source = write(tmp_path, "x,p,q\n1,2,-3\n2,4,5\n")
    reading, examples = read(source, rewards=("p", "q"))
    targets = reading.targets
    assert targets.rewards
    assert (targets.value_range, targets.loss_range) == ((-3.0, 5.0), (0.0, 8.0))
    assert examples.losses.tolist() == [[3, 8], [1, 0]]
    assert targets.as_losses(examples.losses).tolist() == [[2, -3], [4, 5]]
    reading, examples = read(source, rewards=("p", "q"), loss_range=(-10.0, 10.0))
    assert examples.losses.tolist() == [[8, 13], [6, 5]]
    text = r"line 3: the reward of 'q' must be between -3 and 4, got 5.0; give the whole range"
    with pytest.raises(ValueError, match=text):
        read(source, rewards=("p", "q"), loss_range=(-3.0, 4.0))
    with pytest.raises(ValueError, match="give either --label COLUMN or --losses"):
        read(source, rewards=("p",), losses=("q",))
