"""What Azure Personalizer's clients send, in its words."""

from typing import Annotated, Any

import msgspec

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=256, pattern="^[^\\x00]*$")]
Features = list[dict[str, Any]]


class RankableAction(msgspec.Struct):
    """An action and what is known of it."""

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
    """A place for an action; its baseline is read and not used."""

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


read_rank = msgspec.json.Decoder(RankRequest).decode
read_slots = msgspec.json.Decoder(SlotsRequest).decode
read_reward = msgspec.json.Decoder(RewardRequest).decode
read_slots_reward = msgspec.json.Decoder(SlotsRewardRequest).decode
