"""What oneDNN's gelu makes of infinity, to which PyTorch leaves contiguous floating tensors on a CPU. It depends on the type and on
the machine: the limit, as PyTorch's own loops give it, or NaN. So it is asked, when a graph first holds such a gelu."""

import contextlib
import ctypes
import functools

import torch
from torch.utils._python_dispatch import _disable_current_modes


@contextlib.contextmanager
def _one_thread():
    """OpenMP's teams of this thread have one member: a larger one would start threads, which a forked child would wait for."""
    torch.get_num_threads()  # PyTorch sets a thread's number when it first asks for it
    try:
        library = ctypes.CDLL(None)  # PyTorch loads OpenMP for all to see
        before, give = library.omp_get_max_threads(), library.omp_set_num_threads
    except (OSError, AttributeError):
        yield
        return
    give(1)
    try:
        yield
    finally:
        give(before)


@functools.cache
def _answer(dtype: torch.dtype) -> bool:
    """Asked of 64 elements: as many as its widest vectors have, and more."""
    with _disable_current_modes(), torch._C.DisableTorchFunction(), torch.no_grad(), _one_thread():
        infinite = torch.full((64,), torch.inf, dtype=dtype, device="cpu")
        return bool(torch.nn.functional.gelu(infinite).isnan().any())


def loses_infinity(dtype: str) -> bool:
    """Whether the gelu that PyTorch calls now gives NaN for infinity of this type ("float16")."""
    return torch._C._get_mkldnn_enabled() and _answer(getattr(torch, dtype))
