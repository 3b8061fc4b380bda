"""Our own studies, run by `benchmarks/study.py`: the bake-off, limits, and unknown graphs."""
