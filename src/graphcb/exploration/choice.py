"""Which closed form a graph has, if any."""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from graphcb.checks import as_gamma, as_losses
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

Floats = NDArray[np.float64]


class ClosedForm(NamedTuple):
    """A formula for the probabilities, and where it comes from."""

    name: str
    because: str
    formula: Callable[[Floats, float, FeedbackGraph], Floats]


def closed_form_for(graph: FeedbackGraph) -> ClosedForm | None:
    """The closed form that is proven for this graph, or None.

    >>> from graphcb import graphs
    >>> closed_form_for(graphs.inventory(5)).name
    'cover_levels'
    """
    structure = graph.structure
    if isinstance(structure, AppleTasting):
        return _TASTE if structure.n_actions == 2 else None
    known = _BY_STRUCTURE.get(type(structure))
    if known is not None:
        return known
    if graph.is_self_aware and graph.is_undirected and graph.is_deterministic:
        return _INDEPENDENT_SET
    return None


def closed_form_probabilities(
    predicted_losses: ArrayLike, graph: FeedbackGraph, gamma: float
) -> Floats:
    """Probabilities by the closed form of this graph: shape (K,) in and out.

    >>> from graphcb import graphs
    >>> closed_form_probabilities([0.0, 0.5], graphs.apple_tasting(), gamma=4.0)
    array([1., 0.])
    """
    f = as_losses(predicted_losses, graph.n_actions)
    form = closed_form_for(graph)
    if form is None:
        raise ValueError(
            f"`graph` must have a closed form, got {graph!r}; there is one for bandit, full "
            "information, cops-and-robbers, apple tasting with two actions, inventory, posted "
            "price and undirected self-aware graphs"
        )
    return form.formula(f, as_gamma(gamma), graph)


_BY_STRUCTURE: Mapping[type, ClosedForm] = MappingProxyType(
    {
        Bandit: ClosedForm(
            "inverse_gap_weighting",
            "each action reveals itself alone",
            lambda f, gamma, _: closed_forms.inverse_gap_weighting(f, gamma),
        ),
        FullInformation: ClosedForm(
            "follow_the_best",
            "every action reveals everything",
            lambda f, gamma, _: closed_forms.follow_the_best(f, gamma),
        ),
        CopsAndRobbers: ClosedForm(
            "two_best",
            "any two actions reveal everything",
            lambda f, gamma, _: closed_forms.two_best(f, gamma),
        ),
        Inventory: ClosedForm(
            "cover_levels",
            "each level reveals all lower ones",
            lambda f, gamma, _: closed_forms.cover_levels(f, gamma),
        ),
        PostedPrice: ClosedForm(
            "cover_prices",
            "each level reveals all higher ones",
            lambda f, gamma, _: closed_forms.cover_prices(f, gamma),
        ),
    }
)


def _taste(f: Floats, gamma: float, graph: FeedbackGraph) -> Floats:
    revealing_action: int = graph.structure.arguments()["revealing_action"]
    return closed_forms.taste(f, gamma, revealing_action)


_TASTE = ClosedForm("taste", "one of two actions reveals both", _taste)
_INDEPENDENT_SET = ClosedForm(
    "independent_set", "undirected and self-aware", closed_forms.independent_set
)
