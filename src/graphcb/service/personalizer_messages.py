"""The bodies of Azure Personalizer's requests and answers, in its words."""

from typing import Annotated, Any

import msgspec

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=256, pattern="^[^\\x00]*$")]
Features = list[dict[str, Any]]


class RankableAction(msgspec.Struct):
    """An action and its features."""

    id: Name
    features: Features = []


class RankRequest(msgspec.Struct, rename="camel"):
    """A request for one action."""

    actions: list[RankableAction]
    context_features: Features | None = None
    excluded_actions: list[str] | None = None
    event_id: Name | None = None
    defer_activation: bool = False


class Slot(msgspec.Struct, rename="camel"):
    """A place for an action; `baseline_action` is the one that today's rule puts there."""

    id: Name
    baseline_action: str | None = None
    features: Features | None = None
    excluded_actions: list[str] | None = None


class SlotsRequest(msgspec.Struct, rename="camel"):
    """A request for one action in each slot."""

    actions: list[RankableAction]
    slots: list[Slot]
    context_features: Features | None = None
    event_id: Name | None = None
    defer_activation: bool = False


class RewardRequest(msgspec.Struct):
    """The reward of the action that was shown."""

    value: float


class SlotReward(msgspec.Struct, rename="camel"):
    """The reward of the action in a slot."""

    slot_id: str
    value: float


class SlotsRewardRequest(msgspec.Struct):
    """Rewards of some slots."""

    reward: list[SlotReward]


class RankedAction(msgspec.Struct):
    """An action, and how likely it was to be chosen."""

    id: str
    probability: float


class RankAnswer(msgspec.Struct, rename="camel"):
    """The actions, the chosen one first, then by probability."""

    ranking: list[RankedAction]
    event_id: str
    reward_action_id: str


class ChosenAction(msgspec.Struct, rename="camel"):
    """The action of a slot."""

    id: str
    reward_action_id: str


class SlotsAnswer(msgspec.Struct, rename="camel"):
    """The action of each slot."""

    event_id: str
    slots: list[ChosenAction]
