"""Decisions that last: a policy that decides and learns, and the log that is its memory."""

from graphcb.decisions.decision import Acknowledgement, Decision
from graphcb.decisions.log import DecisionLog, LoggedDecision, LoggedFeedback
from graphcb.decisions.policy import Policy
from graphcb.decisions.replaying import ReplayError, replay
from graphcb.decisions.storage import LogError

__all__ = [
    "Acknowledgement",
    "Decision",
    "DecisionLog",
    "LogError",
    "LoggedDecision",
    "LoggedFeedback",
    "Policy",
    "ReplayError",
    "replay",
]
