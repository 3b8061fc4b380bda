"""A small neural network with one output per action."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from graphcb.checks import LARGEST, DivergenceError, as_count, as_positive
from graphcb.describing import describe
from graphcb.loaded import check_counts, check_kind
from graphcb.oracles.rows import Floats, as_columns, as_row, as_seen, check_finite

MOMENTS = ("exp_avg", "exp_avg_sq")  # what Adam keeps of each array of weights


class TorchNetwork:
    """A multilayer perceptron in PyTorch, trained by Adam on the outputs that were revealed.

    Needs the extra `torch`. For dense contexts where a linear map is not enough. One step per
    round on the mean squared error of the revealed actions. `seed` decides the first weights.

    >>> oracle = TorchNetwork(2, 3, hidden=(8,), seed=0)
    >>> oracle.predict([1.0, 0.0, 2.0]).shape
    (2,)
    """

    seed: int = 0

    def __init__(
        self,
        n_actions: int,
        n_features: int,
        *,
        hidden: Sequence[int] = (64,),
        learning_rate: float = 1e-2,
        seed: int = 0,
    ) -> None:
        self.n_actions = as_count("n_actions", n_actions)
        self.n_features = as_count("n_features", n_features)
        self.hidden = tuple(as_count(f"hidden[{i}]", size) for i, size in enumerate(hidden))
        self.learning_rate = as_positive("learning_rate", learning_rate)
        self.seed = seed
        self._build()
        _start(self.network, seed)

    def predict(self, context: Any, actions: Any = None) -> Floats:
        """Predicted losses of these actions (numbers), of all for None."""
        import torch

        x = self._features(context)
        columns = as_columns(actions, self.n_actions)
        with torch.no_grad():
            predicted: Floats = self.network(x).numpy()[columns]
        if not np.isfinite(predicted).all():
            raise self._divergence()
        return predicted

    def update(self, context: Any, actions: Any, losses: Any) -> None:
        """One step of Adam on the outputs that were revealed."""
        import torch

        x = self._features(context)
        columns, seen = as_seen(actions, losses, self.n_actions)
        if seen.size == 0:
            return
        self.optimiser.zero_grad()
        errors = self.network(x)[torch.from_numpy(columns.copy())] - torch.from_numpy(seen.copy())
        (errors**2).mean().backward()
        largest = max(float(weights.grad.abs().max()) for weights in self.network.parameters())
        if not largest <= LARGEST:  # Adam adds up the squares; also true for NaN
            self.optimiser.zero_grad()
            raise self._divergence()
        self.optimiser.step()

    __repr__ = describe

    def _divergence(self) -> DivergenceError:
        return DivergenceError(
            "the predictions or their gradients are no longer finite; "
            f"lower learning_rate (now {self.learning_rate}) or scale the contexts down"
        )

    def _features(self, context: Any) -> Any:
        import torch

        indices, values = as_row(context, self.n_features)
        check_finite(indices, values)
        dense = np.zeros(self.n_features)
        dense[indices] = values
        return torch.from_numpy(dense)

    def _build(self) -> None:
        import torch

        sizes = (self.n_features, *self.hidden, self.n_actions)
        layers: list[Any] = []
        for wide, narrow in pairwise(sizes):
            layers += [torch.nn.Linear(wide, narrow, dtype=torch.float64), torch.nn.ReLU()]
        self.network = torch.nn.Sequential(*layers[:-1])
        self.optimiser = torch.optim.Adam(self.network.parameters(), lr=self.learning_rate)

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: vars(self)[name] for name in ("n_actions", "n_features", "hidden")}
        return {
            **kept,
            "learning_rate": self.learning_rate,
            "network": _to_arrays(self.network.state_dict()),
            "optimiser": _to_arrays(self.optimiser.state_dict()),
        }

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name in ("n_actions", "n_features", "hidden", "learning_rate"):
            setattr(self, name, state[name])
        self._check_state(state["network"], state["optimiser"]["state"])
        self._build()
        self.network.load_state_dict(_to_tensors(state["network"]))
        settings = self.optimiser.state_dict()["param_groups"]  # ours, and not those of a file
        moments = _to_tensors(state["optimiser"]["state"])
        self.optimiser.load_state_dict({"state": moments, "param_groups": settings})

    def _check_state(self, network: dict[str, Any], moments: dict[int, Any]) -> None:
        """Refuse arrays that do not fit the sizes, before anything of these sizes is built."""
        check_counts(self, n_actions=1, n_features=1)
        self.learning_rate = as_positive("learning_rate", self.learning_rate)
        check_kind(self, "hidden", tuple, list)
        self.hidden = tuple(as_count(f"hidden[{i}]", n) for i, n in enumerate(self.hidden))
        shapes: list[tuple[int, ...]] = []
        for wide, narrow in pairwise((self.n_features, *self.hidden, self.n_actions)):
            shapes += [(narrow, wide), (narrow,)]
        weights = list(network.values())
        for parts in (weights, *([m[k] for m in moments.values()] for k in MOMENTS if moments)):
            if [_shape(part) for part in parts] != shapes:
                raise ValueError(f"the network must have arrays of the shapes {shapes}")
            if not all(np.isfinite(part).all() for part in parts):
                raise ValueError("the network must have finite weights")


def _shape(part: Any) -> tuple[int, ...] | None:
    """The shape of an array of weights; None for anything else."""
    is_array = isinstance(part, np.ndarray) and part.dtype == np.float64
    return part.shape if is_array else None


def _start(network: Any, seed: int) -> None:
    """He's initial weights, and a last layer of zeros, so that the first predictions are 0.

    From a stream of our own: the global one of torch stays untouched.
    """
    import torch

    stream = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for layer in network:
            if isinstance(layer, torch.nn.Linear):
                scale = (2.0 / layer.in_features) ** 0.5
                layer.weight.normal_(0.0, scale, generator=stream)
                layer.bias.zero_()
        network[-1].weight.zero_()


def _to_arrays(value: Any) -> Any:
    import torch

    if isinstance(value, torch.Tensor):
        return value.detach().numpy().copy()
    if isinstance(value, dict):
        return {key: _to_arrays(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_to_arrays(item) for item in value]
    return value


def _to_tensors(value: Any) -> Any:
    import torch

    if isinstance(value, np.ndarray):
        return torch.from_numpy(value.copy())
    if isinstance(value, dict):
        return {key: _to_tensors(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_to_tensors(item) for item in value]
    return value
