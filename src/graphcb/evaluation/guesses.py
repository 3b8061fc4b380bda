"""What the loss of each action is guessed to be before it is seen: the mean of those before."""

import numpy as np

from graphcb.estimates.terms import Floats
from graphcb.evaluation.settling import Settled

MOST_NAMES = 64  # actions with a mean of their own; all others share one
MOST_KEPT = 1000  # sets of names whose places are remembered


class Guesses:
    """Means of the losses that were revealed, by the names of actions; 0.5 at first."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}
        self._known: dict[tuple[str, ...], np.ndarray] = {}
        self._counts, self._totals = np.ones(MOST_NAMES + 1), np.full(MOST_NAMES + 1, 0.5)

    def add(self, one: Settled) -> Floats:
        """The guesses for a decision, (n_actions,), made before its losses are added.

        They are NaN, no guess, where probabilities are made up: a guess is cut by these, and would
        then depend on the action that was drawn.
        """
        places = self._places_of(one.names)
        guess = self._totals[places] / self._counts[places]
        seen = places[one.revealed]
        np.add.at(self._counts, seen, 1.0)
        np.add.at(self._totals, seen, one.losses[one.revealed])
        return np.asarray(guess) if one.all_probabilities else np.full(guess.size, np.nan)

    def _places_of(self, names: tuple[str, ...]) -> np.ndarray:
        found = self._known.get(names)
        if found is None:
            for name in names:
                if name not in self._places and len(self._places) < MOST_NAMES:
                    self._places[name] = len(self._places)
            found = np.array([self._places.get(name, MOST_NAMES) for name in names])
            if len(self._known) >= MOST_KEPT:
                self._known.clear()
            self._known[names] = found
        return found
