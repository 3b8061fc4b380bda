"""The convex program of one round, solved and certified."""
