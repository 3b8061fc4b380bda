"""Budgets and baselines on streams of real data."""
