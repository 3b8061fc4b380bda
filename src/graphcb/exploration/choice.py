"""How a graph is explored: by the closed form that is proven for it, or by the convex program."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphcb.checks import as_gamma, as_losses, as_numbers
from graphcb.exploration import closed_forms
from graphcb.graphs import FeedbackGraph
from graphcb.graphs.families import (
    AppleTasting,
    Bandit,
    CopsAndRobbers,
    FullInformation,
    Inventory,
    PostedPrice,
)
from graphcb.graphs.recognition import recognise

Floats = NDArray[np.float64]
Formula = Callable[[Floats, float], Floats]
Method = Literal["auto", "closed-form", "solver"]


class ClosedForm(NamedTuple):
    """A formula for the probabilities of one graph, and why it applies."""

    name: str
    because: str
    formula: Formula


def closed_form_for(graph: FeedbackGraph) -> ClosedForm | None:
    """The closed form that is proven for this graph, or None.

    A plain matrix that happens to be one of the families is recognised.

    >>> from graphcb import graphs
    >>> closed_form_for(graphs.inventory(5)).name
    'cover_levels'
    >>> closed_form_for(FeedbackGraph([[1, 0], [1, 1]])).name
    'cover_levels'
    """
    return graph.remember("closed form", _find_closed_form)


def _find_closed_form(graph: FeedbackGraph) -> ClosedForm | None:
    known = recognise(graph)
    structure = graph.structure if known is None else known.structure
    form = _BY_STRUCTURE.get(type(structure))
    if form is not None:
        return form
    if isinstance(structure, AppleTasting):
        return _taste(structure.revealing_action) if structure.n_actions == 2 else None
    if graph.is_self_aware and graph.is_undirected and graph.is_deterministic:
        return _independent_set(graph)
    return None


def closed_form_probabilities(
    predicted_losses: ArrayLike, graph: FeedbackGraph, gamma: float
) -> Floats:
    """Probabilities by the closed form of this graph: (K,) in and out, or rows (B, K).

    >>> from graphcb import graphs
    >>> closed_form_probabilities([0.0, 0.5], graphs.apple_tasting(), gamma=4.0)
    array([1., 0.])
    """
    form = require_closed_form(graph)
    g = as_gamma(gamma)
    rows = as_numbers("predicted_losses", predicted_losses)
    if rows.ndim == 2:
        checked = (as_losses(row, graph.n_actions) for row in rows)
        return np.array([form.formula(row, g) for row in checked]).reshape(rows.shape)
    return form.formula(as_losses(rows, graph.n_actions), g)


def require_closed_form(graph: FeedbackGraph) -> ClosedForm:
    """The closed form of a graph that must have one."""
    form = closed_form_for(graph)
    if form is None:
        raise ValueError(
            f"`graph` must have a closed form, got {graph!r}; there is one for bandit, full "
            "information, cops-and-robbers, apple tasting with two actions, inventory, posted "
            'price and undirected self-aware graphs. Use method="solver" for any other'
        )
    return form


_BY_STRUCTURE: Mapping[type, ClosedForm] = MappingProxyType(
    {
        Bandit: ClosedForm(
            "exact_inverse_gap_weighting",
            "each action reveals itself alone",
            closed_forms.exact_inverse_gap_weighting,
        ),
        FullInformation: ClosedForm(
            "water_filling", "every action reveals everything", closed_forms.water_filling
        ),
        CopsAndRobbers: ClosedForm(
            "two_best", "any two actions reveal everything", closed_forms.two_best
        ),
        Inventory: ClosedForm(
            "cover_levels", "each level reveals all lower ones", closed_forms.cover_levels
        ),
        PostedPrice: ClosedForm(
            "cover_prices", "each level reveals all higher ones", closed_forms.cover_prices
        ),
    }
)


def _taste(revealing_action: int) -> ClosedForm:
    def formula(f: Floats, gamma: float) -> Floats:
        return closed_forms.taste(f, gamma, revealing_action)

    return ClosedForm("taste", "one of two actions reveals both", formula)


def _independent_set(graph: FeedbackGraph) -> ClosedForm:
    def formula(f: Floats, gamma: float) -> Floats:
        return closed_forms.independent_set(f, gamma, graph)

    return ClosedForm("independent_set", "undirected and self-aware", formula)
