"""graphcb inside other people's programs, one file a package; each needs its own extra."""
