"""Formulas for estimates from what was revealed: importance-weighted terms, and intervals."""
