"""The paper's inventory experiments, as data: which settings, and how one of them is run."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

from graphcb.agents import Agent, SquareCB, SquareCBG
from graphcb.environments import GrowingGrid, SyntheticInventory
from graphcb.experiments.curves import Curve, Setting, Summary, record
from graphcb.experiments.loop import run
from graphcb.exploration import SquareRoot
from graphcb.oracles import NewsvendorOGD


@dataclass(frozen=True)
class InventoryExperiment:
    """One panel: the grids of each agent by the name of their line, and what is swept over."""

    title: str
    grids: Mapping[tuple[str, str], int | GrowingGrid]
    learning_rates: tuple[float, ...] = (0.01, 0.05, 0.1, 0.5, 1.0)
    cs: tuple[float, ...] = (0.25, 0.5, 1.0, 2.0, 3.0, 4.0)
    seeds: tuple[int, ...] = tuple(range(8))
    n_rounds: int = 10_000

    def quick(self) -> "InventoryExperiment":
        """The same at full length around the best settings, with four seeds."""
        return InventoryExperiment(
            self.title,
            self.grids,
            learning_rates=(0.01, 0.05, 0.1),
            cs=(2.0, 4.0),
            seeds=self.seeds[:4],
            n_rounds=self.n_rounds,
        )

    def settings(self) -> list[Setting]:
        """Every run of the panel."""
        return [
            Setting(agent, line, learning_rate, c, seed)
            for agent, line in self.grids
            for learning_rate in self.learning_rates
            for c in self.cs
            for seed in self.seeds
        ]

    def play(self, setting: Setting) -> Curve:
        """One run."""
        grid = self.grids[setting.agent, setting.line]
        environment = SyntheticInventory(n_rounds=self.n_rounds, levels=grid)
        oracle = NewsvendorOGD(environment.n_features, learning_rate=setting.learning_rate)
        agent: Agent
        if setting.agent == "SquareCB.G":
            agent = SquareCBG(oracle, gamma=SquareRoot(setting.c, alpha=1.0))
        else:
            agent = SquareCB(oracle, gamma=SquareRoot(setting.c, alpha="n_actions"))
        return record(setting, run(agent, environment, seed=setting.seed), self.n_rounds)


FIXED_SIZES = (101, 301, 501)

EXPERIMENTS: Mapping[str, InventoryExperiment] = MappingProxyType(
    {
        "inventory-fixed": InventoryExperiment(
            "Inventory, fixed grid of K levels",
            {
                (agent, f"K = {size}"): size
                for agent in ("SquareCB.G", "SquareCB")
                for size in FIXED_SIZES
            },
        ),
        "inventory-adaptive": InventoryExperiment(
            "Inventory, grid growing with the rounds",
            {
                ("SquareCB.G", "sqrt(t) levels"): GrowingGrid(1 / 2),
                ("SquareCB", "cbrt(t) levels"): GrowingGrid(1 / 3),
            },
        ),
    }
)


def claims(name: str, summaries: list[Summary]) -> list[tuple[str, str, bool]]:
    """What the paper claims of a panel, what was measured, and whether it holds."""
    graph = [s for s in summaries if s.agent == "SquareCB.G"]
    plain = [s for s in summaries if s.agent == "SquareCB"]
    if name == "inventory-adaptive":
        margin = plain[0].mean - graph[0].mean
        return [
            (
                "SquareCB.G is below SquareCB by more than one standard deviation",
                f"by {margin:.4f}, deviations {graph[0].deviation:.4f}, {plain[0].deviation:.4f}",
                margin > max(graph[0].deviation, plain[0].deviation),
            )
        ]
    spread = max(s.mean for s in graph) - min(s.mean for s in graph)
    steps = [later.mean - earlier.mean for earlier, later in pairwise(plain)]
    best_plain = min(s.mean for s in plain)
    return [
        (
            "SquareCB.G does not depend on K (within 0.002)",
            f"spread {spread:.4f}",
            spread <= 0.002,
        ),
        (
            "SquareCB grows worse with K",
            "steps " + ", ".join(f"{step:+.4f}" for step in steps),
            all(step > 0.0 for step in steps),
        ),
        (
            "SquareCB.G is better at every K",
            f"worst {max(s.mean for s in graph):.4f} against best {best_plain:.4f}",
            max(s.mean for s in graph) < best_plain,
        ),
    ]
