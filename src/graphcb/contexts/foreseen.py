"""Answers that are worked out together, just before they are asked for."""

from collections.abc import Sequence
from typing import Any


class Foreseen:
    """The answers to questions that are about to come, by the objects that ask.

    One question costs mostly what is the same for all; so whoever knows the next ones can have them
    answered together. It is a shortcut, never the truth: whatever learns forgets the answers, and a
    question that is not here is answered as always. The objects must not change meanwhile. Copies
    and files hold none of this.

    >>> foreseen, question = Foreseen(), {"amount": 3.0}
    >>> foreseen.keep([question], ["an answer"])
    >>> foreseen.find(question), foreseen.find({"amount": 3.0})
    ('an answer', None)
    """

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Any, Any]] = {}

    def __reduce__(self) -> tuple[type["Foreseen"], tuple[()]]:
        return Foreseen, ()

    def keep(self, questions: Sequence[Any], answers: Sequence[Any]) -> None:
        """Keep these answers, and no others."""
        pairs = zip(questions, answers, strict=True)
        self._kept = {id(question): (question, answer) for question, answer in pairs}

    def find(self, question: Any) -> Any:
        """The answer, None if it was not foreseen."""
        found = self._kept.get(id(question))  # whose question is alive, so that no other has its id
        return None if found is None else found[1]

    def forget(self) -> None:
        """Forget all answers, which may no longer hold."""
        if self._kept:
            self._kept = {}
