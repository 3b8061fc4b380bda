"""Answers that are worked out together, just before they are asked for."""

from collections.abc import Sequence
from typing import Any


class Foreseen(dict[int, tuple[Any, Any]]):
    """The answers to questions that are about to come: `get(id(question))` is (question, answer).

    One question costs mostly what is the same for all; so whoever knows the next ones can have them
    answered together. It is a shortcut, never the truth: whatever learns clears it, and a question
    that is not here is answered as always. A question stays alive here, so that no other object has
    its id; it must not change meanwhile. Copies and files hold none of this.

    >>> foreseen, question = Foreseen(), {"amount": 3.0}
    >>> foreseen.keep([question], ["an answer"])
    >>> foreseen.get(id(question)), foreseen.get(id({"amount": 3.0}))
    (({'amount': 3.0}, 'an answer'), None)
    """

    def __reduce__(self) -> tuple[type["Foreseen"], tuple[()]]:
        return Foreseen, ()

    def keep(self, questions: Sequence[Any], answers: Sequence[Any]) -> None:
        """Keep these answers, and no others."""
        self.clear()
        self.update(zip(map(id, questions), zip(questions, answers, strict=True), strict=True))
