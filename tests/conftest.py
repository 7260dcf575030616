"""The marks of tests, and what keeps a marked test from running here: one row each."""

import pytest


def no_gpu():
    import torch

    return "" if torch.cuda.is_available() else "no NVIDIA GPU is here"


# mark, what it says, why it cannot run here ("" = it can)
MARKS = [("gpu", "needs an NVIDIA GPU", no_gpu)]


def pytest_configure(config):
    for name, about, _ in MARKS:
        config.addinivalue_line("markers", f"{name}: {about}")


def pytest_collection_modifyitems(items):
    for name, _, reason in MARKS:
        marked = [item for item in items if item.get_closest_marker(name)]
        why = reason() if marked else ""
        for item in marked if why else ():
            item.add_marker(pytest.mark.skip(reason=why))
