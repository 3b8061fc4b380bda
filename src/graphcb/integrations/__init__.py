"""graphcb inside other packages, one file for each; each needs its extra."""
