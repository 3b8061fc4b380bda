"""Many learners on many streams of real data."""
