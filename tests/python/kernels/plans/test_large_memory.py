"""Memory of several megabytes comes in large pages, where the system has them."""

import mmap
import resource
from pathlib import Path

import pytest
import torch

import vitrine

THERE = Path("/sys/kernel/mm/transparent_hugepage/enabled")
SMALL_PAGE = 4096


def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt


def gives_large_pages(size):
    """Whether the system gives them now to who asks: it has none left while memory is short or in pieces."""
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(mmap.MADV_HUGEPAGE)
    before = faults()
    for at in range(0, size, SMALL_PAGE):
        memory[at] = 1
    few = faults() - before < size // SMALL_PAGE // 8
    memory.close()
    return few


@pytest.mark.skipif(not THERE.exists() or "[never]" in THERE.read_text(), reason="the system gives no large pages")
def test_large_results_fault_in_few_pages():
    def scaled(x, w):
        return x * w + 1

    x, w = torch.randn(1 << 24), torch.tensor(2.0, requires_grad=True)
    compiled = vitrine.compile(scaled)
    compiled(x, w)
    before = faults()
    result = compiled(x, w)  # of 64 MB, in memory that is new: gradients are needed
    small = result.numel() * result.element_size() // SMALL_PAGE
    few = faults() - before < small // 8
    assert few or not gives_large_pages(small * SMALL_PAGE)
    torch.testing.assert_close(result, scaled(x, w))
