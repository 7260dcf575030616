"""A package of its own name, so that no other `tests` that is installed comes before it."""
