"""Long sweeps (PyTorch's own operator list) run a part by default and whole with VITRINE_TESTS=all (tests/run_all.sh)."""

import os

WHOLE = os.environ.get("VITRINE_TESTS") == "all"


def part(cases, every: int) -> list:
    """All cases, or every n-th of them: always the same ones, spread over the list."""
    cases = list(cases)
    return cases if WHOLE else cases[::every]
