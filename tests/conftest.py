"""The marks of tests, what keeps a marked test from running here (one row each), and their random numbers."""

import sys
import zlib

import pytest


@pytest.fixture(autouse=True)
def same_numbers(request):
    """A test draws the same random tensors in every run: what fails once fails again."""
    if torch := sys.modules.get("torch"):
        torch.manual_seed(zlib.crc32(request.node.nodeid.encode()))


def no_gpu():
    import torch

    return "" if torch.cuda.is_available() else "no NVIDIA GPU is here"


# mark, what it says, why it cannot run here ("" = it can)
MARKS = [("gpu", "needs an NVIDIA GPU", no_gpu)]


def pytest_configure(config):
    for name, about, _ in MARKS:
        config.addinivalue_line("markers", f"{name}: {about}")


def pytest_addoption(parser):
    parser.addoption("--most-cases", type=int, metavar="N", help="run N cases of a test that has more, spread over them, always the same")


def pytest_collection_modifyitems(config, items):
    if most := config.getoption("most_cases"):
        left_out = beyond(items, most)
        config.hook.pytest_deselected(items=left_out)
        gone = set(map(id, left_out))
        items[:] = [item for item in items if id(item) not in gone]
    for name, _, reason in MARKS:
        marked = [item for item in items if item.get_closest_marker(name)]
        why = reason() if marked else ""
        for item in marked if why else ():
            item.add_marker(pytest.mark.skip(reason=why))


def beyond(items, most):
    """Cases of the tests that have more than so many, but for those that are kept: the first, the last, and what lies evenly between."""
    cases = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    out = []
    for group in (g for g in cases.values() if len(g) > most):
        kept = {round(k * (len(group) - 1) / (most - 1)) for k in range(most)} if most > 1 else {0}
        out += [item for i, item in enumerate(group) if i not in kept]
    return out
