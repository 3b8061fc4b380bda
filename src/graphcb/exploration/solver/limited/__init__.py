"""The convex program with limits on p: floors, caps and linear limits."""
