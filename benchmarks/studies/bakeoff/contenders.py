"""The contenders that the settings file of a bake-off can name, and the agent of each run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from graphcb.agents import Agent, EpsilonGreedy, Greedy, InformationDirected, SquareCB, SquareCBG
from graphcb.experiments.curves import Setting
from graphcb.exploration import Automatic, SquareRoot
from graphcb.oracles import DefaultOracle, LogisticOGD, OnlineRidge
from studies.bakeoff.peers import (
    CobaPeer,
    MabwiserPeer,
    RiverPeer,
    VowpalWabbitPeer,
    installed,
)
from studies.plausible import Plausible
from studies.prepared import Facts, Prepared
from studies.thompson import Thompson

OURS = "default"  # the oracle of graphcb's default, which has no settings
PACKAGES = {
    "vowpalwabbit": ("vowpalwabbit",),
    "coba": ("coba", "vowpalwabbit"),
    "mabwiser": ("mabwiser",),
    "river": ("river",),
    "skyline": ("scikit-learn",),
}


@dataclass(frozen=True)
class Contender:
    """A learner and its grid; the first values are its default.

    Contenders of the same name are one in the tables; the first has the default. For a learner of
    another package, `learner` names it or has its options, and `c_is` and `rate_is` are the names
    of the options that the grid sets. `most_features` leaves out streams with more of them.
    """

    name: str
    agent: str
    oracle: str = ""
    learning_rate: tuple[float, ...] = (0.0,)
    c: tuple[float, ...] = (0.0,)
    learner: str = ""
    c_is: str = ""
    rate_is: str = ""
    most_features: int | None = None

    @property
    def label(self) -> str:
        """The name, and the oracle if it has one."""
        return f"{self.name}, {self.oracle}" if self.oracle else self.name

    @property
    def is_peer(self) -> bool:
        """Whether it is a learner of another package."""
        return self.agent in PACKAGES and not self.is_skyline

    @property
    def is_ours(self) -> bool:
        """Whether it is graphcb's default, or explores otherwise with the same oracle."""
        return self.agent == "default" or self.oracle == OURS

    @property
    def is_skyline(self) -> bool:
        """Whether it sees all losses, so that nobody is compared with it as a rival."""
        return self.agent == "skyline"

    @property
    def versions(self) -> tuple[str | None, ...]:
        """The packages it needs, with their versions; None for one that is not installed."""
        return tuple(installed(package) for package in PACKAGES.get(self.agent, ()))

    def written(self, setting: Setting) -> str:
        """The setting in words, such as "logistic 4, c = 32"."""
        rate, c = f"{setting.learning_rate:g}", f"{setting.c:g}"
        options = ((self.rate_is, rate), (self.c_is, c))
        words = [f"{name.lstrip('-')} {value}" for name, value in options if name]
        if self.oracle not in ("", OURS):
            words.append(f"{self.oracle} {rate}")
        if not self.is_peer and self.c != (0.0,):
            words.append(f"epsilon {c}" if self.agent == "epsilon-greedy" else f"c = {c}")
        return ", ".join(words)

    def takes(self, stream: Facts) -> bool:
        """Whether it can play the stream: a peer needs bandit feedback, ridge columns of numbers.

        A learner that takes no sparse rows needs at most `most_features`.
        """
        if self.is_peer and not stream.is_bandit:
            return False
        if self.oracle == "ridge" and stream.has_words:
            return False
        return self.most_features is None or (
            not stream.has_words and stream.n_features <= self.most_features
        )


def _oracle(contender: Contender, stream: Prepared, setting: Setting) -> Any:
    if contender.oracle == OURS:
        return DefaultOracle(stream.graph.n_actions)
    size, value = (stream.graph.n_actions, stream.n_features), setting.learning_rate
    if contender.oracle == "ridge":
        return OnlineRidge(*size, penalty=value)
    return LogisticOGD(*size, learning_rate=value)


def _squarecb(contender: Contender, stream: Prepared, setting: Setting) -> Agent:
    gamma = SquareRoot(setting.c, "n_actions")
    return SquareCB(_oracle(contender, stream, setting), gamma=gamma)


def _squarecbg(contender: Contender, stream: Prepared, setting: Setting) -> Agent:
    return SquareCBG(_oracle(contender, stream, setting), gamma=SquareRoot(setting.c, 1.0))


def _automatic(contender: Contender, stream: Prepared, setting: Setting) -> Agent:
    return SquareCBG(_oracle(contender, stream, setting), gamma=Automatic())


def _greedy(contender: Contender, stream: Prepared, setting: Setting) -> Agent:
    return Greedy(_oracle(contender, stream, setting))


def _epsilon_greedy(contender: Contender, stream: Prepared, setting: Setting) -> Agent:
    return EpsilonGreedy(_oracle(contender, stream, setting), epsilon=setting.c)


def _default(contender: Contender, stream: Prepared, setting: Setting) -> Agent:
    return InformationDirected(DefaultOracle(stream.graph.n_actions))


def _thompson(contender: Contender, stream: Prepared, setting: Setting) -> Agent:
    return Thompson(_oracle(contender, stream, setting), setting.seed)


def _plausible(contender: Contender, stream: Prepared, setting: Setting) -> Agent:
    return Plausible(_oracle(contender, stream, setting), setting.c)


def _options(contender: Contender, setting: Setting) -> dict[str, float]:
    named = {contender.c_is: setting.c, contender.rate_is: setting.learning_rate}
    return {name: value for name, value in named.items() if name}


def _vowpal_wabbit(contender: Contender, stream: Prepared, setting: Setting) -> Agent:
    options = " ".join(f"{name} {v:g}" for name, v in _options(contender, setting).items())
    size = stream.graph.n_actions, stream.n_features
    return VowpalWabbitPeer(f"{contender.learner} {options}", *size, setting.seed)


def _coba(contender: Contender, stream: Prepared, setting: Setting) -> Agent:
    from coba import learners

    learner = getattr(learners, contender.learner)
    return CobaPeer(
        learner(**_options(contender, setting), seed=setting.seed),
        stream.graph.n_actions,
        is_dense=contender.most_features is not None,
    )


def _mabwiser(contender: Contender, stream: Prepared, setting: Setting) -> Agent:
    from mabwiser.mab import LearningPolicy

    policy = getattr(LearningPolicy, contender.learner)(**_options(contender, setting))
    return MabwiserPeer(policy, stream.graph.n_actions, stream.n_features, setting.seed)


def _river(contender: Contender, stream: Prepared, setting: Setting) -> Agent:
    from river import bandit

    policy = getattr(bandit, contender.learner)
    options = _options(contender, setting)
    return RiverPeer(policy(**options, seed=setting.seed), stream.graph.n_actions)


AGENTS: Mapping[str, Callable[[Contender, Prepared, Setting], Agent]] = MappingProxyType(
    {
        "default": _default,
        "greedy": _greedy,
        "epsilon-greedy": _epsilon_greedy,
        "SquareCB": _squarecb,
        "SquareCB.G": _squarecbg,
        "Automatic": _automatic,
        "Thompson": _thompson,
        "plausible": _plausible,
        "vowpalwabbit": _vowpal_wabbit,
        "coba": _coba,
        "mabwiser": _mabwiser,
        "river": _river,
    }
)
