"""Regressors of other packages as oracles, one file per package; each needs its extra."""
