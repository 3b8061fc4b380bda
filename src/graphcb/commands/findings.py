"""What was made of a file, in a few lines: kinds of columns, missing values, warnings, hints."""

from typing import Any

from graphcb.checks import listed
from graphcb.contexts.codes import codes_in_words
from graphcb.problems import Learner
from graphcb.streams import Report

PLURALS = {"number": "numbers", "category": "categories", "text": "texts", "time": "times"}


class Findings:
    """Says of a report at first what is known, and in the end what is new.

    With a `learner`, it says as well what looks like a code for missing in what that was shown.

    >>> from graphcb.streams import ColumnReport
    >>> columns = {name: ColumnReport(name, "number") for name in ("age", "size")}
    >>> findings = Findings(Report("mail.csv", columns=columns))
    >>> findings.at_first()
    ['features: 2 numbers (age, size)']
    >>> columns["size"].missing = 3
    >>> findings.in_the_end()
    ['missing values       = 3 (size 3)']
    """

    def __init__(self, report: Report, learner: Learner | None = None) -> None:
        self.report = report
        self._encoders = () if learner is None else (learner.encoder, learner.action_encoder)
        self._warned = {name for name, c in report.columns.items() if c.first_odd is not None}

    def at_first(self) -> list[str]:
        """Lines before the first row."""
        by_kind: dict[str, list[str]] = {}
        for column in self.report.columns.values():
            by_kind.setdefault(column.kind, []).append(column.name)
        parts = [
            f"{len(names):,} {kind if len(names) == 1 else PLURALS[kind]} ({listed(names)})"
            for kind, names in by_kind.items()
        ]
        lines = [f"features: {', '.join(parts)}"] if parts else []
        lines += [f"warning: {text}" for text in self.report.warnings()]
        return lines + [f"hint: {text}" for text in self.report.hints]

    def in_the_end(self) -> list[str]:
        """Lines after the last row."""
        found = {c.name: c.missing for c in self.report.columns.values() if c.missing}
        lines = []
        if found:
            each = listed([f"{name} {count:,}" for name, count in found.items()])
            lines.append(f"missing values       = {sum(found.values()):,} ({each})")
        if self.report.unknown:
            lines.append(f"values of unknown features, left out = {self.report.unknown:,}")
        odd = [name for name, c in self.report.columns.items() if c.first_odd is not None]
        new = [text for name, text in zip(odd, self.report.warnings(), strict=True)
               if name not in self._warned]  # fmt: skip
        return lines + [f"warning: {text}" for text in (*new, *codes_in_words(self._encoders))]

    def as_json(self) -> dict[str, Any]:
        """The same for `--json`."""
        columns = self.report.columns.values()
        return {
            "features": [
                {"name": c.name, "kind": c.kind, "missing": c.missing, "odd": c.odd}
                for c in columns
            ],
            "warnings": [*self.report.warnings(), *codes_in_words(self._encoders)],
            "hints": self.report.hints,
        }
