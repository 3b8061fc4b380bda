"""Online regressors, one a file: what will each action cost?"""

from graphcb.oracles.newsvendor import NewsvendorOGD
from graphcb.oracles.protocol import Oracle

__all__ = ["NewsvendorOGD", "Oracle"]
