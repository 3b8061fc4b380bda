"""Durable decisions: a policy that decides and learns, and the log from which it is rebuilt."""

from graphcb.decisions.deciders import Decider, StaleSnapshot
from graphcb.decisions.decision import Acknowledgement, Decision
from graphcb.decisions.explaining import ExplainedAction, Explanation, explain
from graphcb.decisions.from_beside import Inbox
from graphcb.decisions.log import DecisionLog, LoggedDecision, LoggedFeedback
from graphcb.decisions.policy import Policy
from graphcb.decisions.pruning import Pruned
from graphcb.decisions.replaying import ReplayError, replay
from graphcb.decisions.storage import LogError
from graphcb.decisions.training import Taken, Trainer
from graphcb.decisions.transition import PolicyState
from graphcb.decisions.verifying import back_up, verify
from graphcb.decisions.versions import Change, Version, Versions

__all__ = [
    "Acknowledgement",
    "Change",
    "Decider",
    "Decision",
    "DecisionLog",
    "ExplainedAction",
    "Explanation",
    "Inbox",
    "LogError",
    "LoggedDecision",
    "LoggedFeedback",
    "Policy",
    "PolicyState",
    "Pruned",
    "ReplayError",
    "StaleSnapshot",
    "Taken",
    "Trainer",
    "Version",
    "Versions",
    "back_up",
    "explain",
    "replay",
    "verify",
]
