"""Online regressors: what will each action cost?

The adapters for scikit-learn, PyTorch and Vowpal Wabbit import their package when they are built;
each needs its extra installed.
"""

from graphcb.oracles.action_features import ActionFeatureOracle
from graphcb.oracles.adapters.pytorch import TorchNetwork
from graphcb.oracles.adapters.scikit_learn import SklearnRegressor
from graphcb.oracles.adapters.vowpal_wabbit import VowpalWabbit
from graphcb.oracles.aggregation import VovkAggregation
from graphcb.oracles.bayesian import BayesianLogistic
from graphcb.oracles.default import DefaultOracle
from graphcb.oracles.linear import LinearAdaGrad, LinearOGD
from graphcb.oracles.logistic import LogisticOGD
from graphcb.oracles.newsvendor import NewsvendorOGD
from graphcb.oracles.protocol import Forecast, ForecastingOracle, Oracle, as_oracle
from graphcb.oracles.ridge import OnlineRidge
from graphcb.oracles.shared import SharedLinearOGD

__all__ = [
    "ActionFeatureOracle",
    "BayesianLogistic",
    "DefaultOracle",
    "Forecast",
    "ForecastingOracle",
    "LinearAdaGrad",
    "LinearOGD",
    "LogisticOGD",
    "NewsvendorOGD",
    "OnlineRidge",
    "Oracle",
    "SharedLinearOGD",
    "SklearnRegressor",
    "TorchNetwork",
    "VovkAggregation",
    "VowpalWabbit",
    "as_oracle",
]
