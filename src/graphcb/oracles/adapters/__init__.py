"""Regressors of other packages as oracles, one package a file; each needs its extra installed."""
