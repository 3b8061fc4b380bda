"""How a graph is explored: by a closed form, by its exact solution, or by the convex program."""

from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from graphcb.checks import as_gamma, as_losses, as_numbers
from graphcb.exploration.closed_forms import independent_set
from graphcb.exploration.solver.solution import Status
from graphcb.graphs import FeedbackGraph, as_graph
from graphcb.graphs.formulas import ClosedForm
from graphcb.graphs.registry import recognise
from graphcb.graphs.structure import Floats

Method = Literal["auto", "closed-form", "solver"]


def closed_form_for(graph: FeedbackGraph) -> ClosedForm | None:
    """The closed form of this graph, or None; a plain matrix of a family is recognised.

    >>> from graphcb import graphs
    >>> closed_form_for(graphs.inventory(5)).name
    'cover_levels'
    >>> closed_form_for(FeedbackGraph([[1, 0], [1, 1]])).name
    'cover_levels'
    """
    return graph.remember("closed form", _find_closed_form)


def _find_closed_form(graph: FeedbackGraph) -> ClosedForm | None:
    form = recognise(graph).closed_form()
    if form is None and graph.is_self_aware and graph.is_undirected and graph.is_deterministic:
        formula = partial(independent_set, graph=graph)
        return ClosedForm("independent_set", "undirected and self-aware", formula)
    return form


def choose_form(
    graph: FeedbackGraph, method: Method, *, needs_optimum: bool = False
) -> ClosedForm | None:
    """The closed form that `method` plays on this graph, or None if it calls `solve_dec`.

    "auto" takes a closed form only if it is within a known factor of the optimum, and none if
    the optimal value is needed.
    """
    if method == "closed-form":
        return require_closed_form(graph)
    if method == "solver" or needs_optimum:
        return None
    form = closed_form_for(graph)
    return None if form is None or form.within is None else form


def explain(graph: FeedbackGraph, method: Method = "auto", *, optimum_for: str = "") -> str:
    """What `choose_form` leads to on this graph, and why; `optimum_for`: what needs the optimum."""
    unseen = as_graph(graph).unobservable_actions
    if unseen.size:
        return f"refused: no action reveals action {unseen[0]}"
    form = choose_form(graph, method, needs_optimum=bool(optimum_for))
    if form is not None:
        return f"closed form {form.name}: {form.because}"
    exact = recognise(graph).exact_solution()
    if exact is not None:
        return f"{Status.EXACT}: {exact.because}"
    if method == "solver":
        return 'convex program: method="solver"'
    if optimum_for:
        return f"convex program: {optimum_for} needs the optimal value"
    form = closed_form_for(graph)
    if form is None:
        return "convex program: no closed form is proven for this graph"
    return f"convex program: closed form {form.name} may be far from the optimum"


def closed_form_probabilities(
    predicted_losses: ArrayLike, graph: FeedbackGraph, gamma: float
) -> Floats:
    """Probabilities by the closed form of this graph: (K,) in and out, or rows (B, K).

    >>> from graphcb import graphs
    >>> closed_form_probabilities([0.0, 0.5], graphs.apple_tasting(), gamma=4.0)
    array([1., 0.])
    """
    form = require_closed_form(as_graph(graph))
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
            f"`graph` must have a closed form, got {graph!r}; a named family may have one, and "
            'undirected self-aware graphs have. Use method="solver" for any other'
        )
    return form
