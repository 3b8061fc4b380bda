"""The options of `graphcb run`."""

import argparse

from graphcb.commands.learner import AGENTS, ORACLES
from graphcb.commands.options import add_options, loss_range
from graphcb.commands.outputs import FORCE
from graphcb.streams import Source

# How a file is read.
FILE = {
    "--format FORMAT": "csv, parquet, jsonl, libsvm or vw (default: by the file name)",
    "--delimiter CHARACTER": "between the cells of CSV, \\t for a tab (default: comma)",
    "--no-header": "CSV without column names: they are 1, 2, ...",
    "--encoding ENCODING": "of text, such as cp1252 or utf-16 (default: UTF-8)",
    "--decimal CHARACTER": "what stands before the decimals in CSV, . or , (default: .); points "
    "between thousands are read with ','",
    "--on-error stop|skip=stop": "what to do with a row that cannot be used (default: %(default)s)",
}
COLUMNS = {
    "--label COLUMN": "the right action: loss 0, all others 1",
    "--losses COLUMNS": "each action's losses in its own column; in all options that name columns, "
    "a pattern such as 'stock*' stands for several",
    "--rewards COLUMNS": "the same for rewards, of which larger ones are better",
    "--features COLUMNS": "columns to learn from (default: all others)",
    "--categorical COLUMNS": "features to treat as words although they look like numbers",
    "--edges COLUMN": "one graph per row, as 'a>a a>b b>b:0.5' (played>revealed:probability)",
    "--classes LABELS": "all labels, in the order of the graph's actions (default: those in the "
    "file, sorted)",
    **loss_range("those in the file"),
    "--bits BITS": "hash words and sparse features to 2^BITS places (default: 18)",
    **FILE,
    "--shuffle": "read the rows in a random order, decided by --seed; all rows are held in memory",
}
LEARNER = {
    "--problem TOML": "the problem in a file: actions, what they reveal, losses or rewards, "
    "features",
    "--graph GRAPH": "a family (bandit, cops-and-robbers, ...) or a file (default: bandit)",
    "--agent AGENT": f"{', '.join(AGENTS)} (default: information-directed, or squarecbg if its "
    "options are given or the oracle does not say how sure it is)",
    "--oracle ORACLE": f"{', '.join(ORACLES)} (default: default)",
    "--learning-rate RATE": "of the oracle; without --oracle, of the logistic one",
    "--gamma GAMMA": "explore by SquareCB.G with this gamma; larger explores less (default: "
    "information-directed, without a gamma; SquareCB.G with an automatic one if the oracle does "
    "not say how sure it is)",
    "--regression-regret R": "with --gamma: a bound on the oracle's regression regret, in squared "
    "losses as shares of their range; the bound on regret is then a number",
    "--method METHOD": "of SquareCB.G: auto, closed-form or solver",
    "--seed N": "seed of the draws (default: 0)",
    "--seeds N": "play N times with draws of their own, and print the mean and the spread",
    "--load MODEL": "continue with a saved model",
}
OUTPUT = {
    "--metric-window N": "a line of progress for every N examples, with their mean (default: at 1, "
    "2, 4, ...)",
    "--json": "print one JSON object with the results, and nothing else",
    "--save MODEL": "the model, for --load, `graphcb predict`, `graphcb evaluate` and graphcb.load",
    "--predictions FILE": "CSV with the line, the action and its probability for each row",
    "--plot FILE": "mean loss beside the best constant action and a full-information learner, as "
    ".png, .svg or .pdf",
    **FORCE,
}


def source_of(options: argparse.Namespace, *, shuffle_seed: int | None = None) -> Source:
    """The file that is read, as the options say."""
    return Source(
        options.data,
        format=options.format,
        delimiter=options.delimiter,
        header=not options.no_header,
        encoding=options.encoding,
        decimal=options.decimal,
        shuffle_seed=shuffle_seed,
    )


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add them in groups."""
    add_options(parser.add_argument_group("what is in the file"), COLUMNS)
    add_options(parser.add_argument_group("the learner"), LEARNER)
    add_options(parser.add_argument_group("output"), OUTPUT)
