"""Online regressors, one a file: what will each action cost?"""

from graphcb.oracles.aggregation import VovkAggregation
from graphcb.oracles.linear import LinearAdaGrad, LinearOGD
from graphcb.oracles.logistic import LogisticOGD
from graphcb.oracles.newsvendor import NewsvendorOGD
from graphcb.oracles.protocol import Oracle
from graphcb.oracles.ridge import OnlineRidge
from graphcb.oracles.shared import SharedLinearOGD

__all__ = [
    "LinearAdaGrad",
    "LinearOGD",
    "LogisticOGD",
    "NewsvendorOGD",
    "OnlineRidge",
    "Oracle",
    "SharedLinearOGD",
    "VovkAggregation",
]
