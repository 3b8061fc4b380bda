from hypothesis import settings

# The same examples in every run, and no clock: the first call of a kernel compiles it.
# `make test-slow` runs every property once more, with --hypothesis-profile thorough.
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=30)
settings.register_profile("thorough", settings.get_profile("quick"), max_examples=300)
settings.load_profile("quick")
