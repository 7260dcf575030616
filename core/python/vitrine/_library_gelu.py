"""What oneDNN's gelu, to which PyTorch leaves contiguous float32 on a CPU, makes of infinity: that depends on the machine."""

import torch
from torch.utils._python_dispatch import _disable_current_modes


def loses_infinity() -> bool:
    """Whether it gives NaN. Asked of 64 elements: as many as its widest vectors have, and more."""
    with _disable_current_modes(), torch._C.DisableTorchFunction(), torch.no_grad():
        infinite = torch.full((64,), torch.inf, dtype=torch.float32, device="cpu")
        return bool(torch.nn.functional.gelu(infinite).isnan().any())
