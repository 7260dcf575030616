"""Memory of several megabytes is asked for in large pages, where the system has them."""

import mmap
from pathlib import Path

import pytest
import torch

import vitrine

MAPS = Path("/proc/self/smaps")
THERE = Path("/sys/kernel/mm/transparent_hugepage/enabled")


def asked_for_large_pages(address):
    """Whether the mapping that holds the address was advised so. What the system gave depends on what it had left."""
    inside = False
    for line in MAPS.read_text().splitlines():
        head = line.split(" ", 1)[0]
        if not head.endswith(":"):
            first, last = (int(end, 16) for end in head.split("-"))
            inside = first <= address < last
        elif inside and head == "VmFlags:":
            return "hg" in line.split()
    return False


@pytest.mark.skipif(not THERE.exists() or not MAPS.exists(), reason="the system has no large pages, or does not say")
def test_large_results_ask_for_large_pages():
    def scaled(x, w):
        return x * w + 1

    x, w = torch.randn(1 << 24), torch.tensor(2.0, requires_grad=True)
    result = vitrine.compile(scaled)(x, w)  # of 64 MB, in memory that is new: gradients are needed
    middle = result.data_ptr() + result.numel() * result.element_size() // 2
    assert asked_for_large_pages(middle)
    torch.testing.assert_close(result, scaled(x, w))


@pytest.mark.skipif(not MAPS.exists(), reason="the system does not say")
def test_memory_that_nobody_advised_is_told_apart():
    nobodys = torch.frombuffer(mmap.mmap(-1, 1 << 26), dtype=torch.uint8)
    assert not asked_for_large_pages(nobodys.data_ptr() + (1 << 25))
