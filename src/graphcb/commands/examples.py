"""Two examples for each help page."""

import argparse

# A page shows the first two of its command and the commands in it.
EXAMPLES = """\
graphcb run data.csv --label topic
graphcb problem new
graphcb problem new fraud.toml --data payments.csv
graphcb inspect cops-and-robbers:5
graphcb inspect model.npz
graphcb reproduce inventory-fixed --quick
graphcb reproduce all --jobs 4 --out results
graphcb run stock.parquet --rewards 'level*' --graph inventory --save model.npz
graphcb predict model.npz new.csv
graphcb predict model.npz new.csv --draw --out decisions.csv
graphcb replay decisions.db
graphcb replay decisions.db --save model.npz
graphcb log summary decisions.db
graphcb log backup decisions.db copy.db
graphcb log backup decisions.db /backups/monday.db
graphcb log export decisions.db --parquet decisions.parquet
graphcb log export decisions.db --folder decisions
graphcb log verify decisions.db
graphcb log verify decisions.db --no-replay
graphcb log import clicks.dsjson decisions.db
graphcb log import clicks.csv decisions.db --action shown --probability p --reward click
graphcb log versions decisions.db
graphcb log versions postgresql://user@host/database
graphcb log promote decisions.db problem.toml
graphcb log promote decisions.db problem.toml --note 'calls are possible now'
graphcb log rollback decisions.db 1
graphcb log rollback decisions.db 1 --note 'too many calls'
graphcb log prune decisions.db --days 90
graphcb log prune decisions.db
graphcb log forget decisions.db --subject 4711
graphcb log forget decisions.db monday.db --subject 4711 --unlearn
graphcb log explain decisions.db 5f3a90c1-7-d2c4018e66a1f3b7
graphcb log explain decisions.db 5f3a90c1-7-d2c4018e66a1f3b7 --json
graphcb log summary decisions.db --json
graphcb evaluate decisions.db --policy logged --policy constant:review
graphcb evaluate clicks.csv --policy uniform --action shown --loss cost --probability p
graphcb serve --demo
graphcb serve problem.toml --log decisions.db
graphcb serve-keys add keys.json shop
graphcb serve-keys list keys.json
graphcb serve-keys add keys.json operator --scopes read,admin
graphcb serve-keys list /etc/graphcb/keys.json
graphcb serve-keys remove keys.json shop
graphcb serve-keys remove /etc/graphcb/keys.json operator
graphcb compile
NUMBA_CACHE_DIR=/opt/graphcb graphcb compile
""".splitlines()


class HelpWithExamples(argparse.HelpFormatter):
    """Fills paragraphs, but keeps the lines of examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        return text if text.startswith("examples:") else super()._fill_text(text, width, indent)


def examples_of(page: str) -> list[str]:
    """The examples on the help page of a command."""
    return [line for line in EXAMPLES if f"{page} " in f"{line} "][:2]


def add_examples(parser: argparse.ArgumentParser) -> None:
    """Add the examples to the help of a parser and of all commands in it."""
    parser.formatter_class = HelpWithExamples
    shown = "\n".join(f"  {line}" for line in examples_of(parser.prog))
    parser.epilog = f"examples:\n{shown}"
    for _, inner in commands_in(parser):
        add_examples(inner)


def commands_in(parser: argparse.ArgumentParser) -> list[tuple[str, argparse.ArgumentParser]]:
    """The commands of a parser with their names."""
    return [
        (name, inner)
        for action in parser._actions
        if isinstance(action, argparse._SubParsersAction)
        for name, inner in action.choices.items()
    ]
