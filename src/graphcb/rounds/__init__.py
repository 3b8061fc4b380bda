"""The round, which simulations, policies, replays and evaluations all play the same way."""

from graphcb.rounds.agent import Agent, UninformedAgent
from graphcb.rounds.round import (
    Entered,
    Played,
    act_on,
    action_at,
    draw,
    gamma_of,
    hook,
    knowing_round,
    learn_from,
    learn_revealed,
    play_round,
    tell_if_nothing_comes,
    would_play,
)

__all__ = [
    "Agent",
    "Entered",
    "Played",
    "UninformedAgent",
    "act_on",
    "action_at",
    "draw",
    "gamma_of",
    "hook",
    "knowing_round",
    "learn_from",
    "learn_revealed",
    "play_round",
    "tell_if_nothing_comes",
    "would_play",
]
