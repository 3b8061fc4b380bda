"""Pictures, each a pure function of what it shows; the only room that imports matplotlib."""
