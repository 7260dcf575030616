"""The CPU's random generator as operators of a graph: what torch.utils.checkpoint drew is drawn again in backward."""

import torch

_library = torch.library.Library("vitrine", "DEF")
_library.define("generator_state() -> Tensor")
_library.define("swap_generator_state(Tensor state) -> Tensor")


def _swap(state):
    """The generator has another state; the one it had comes back. Both are u8 tensors."""
    before = torch.get_rng_state()
    torch.set_rng_state(state)
    return before


_library.impl("generator_state", torch.get_rng_state, "CompositeExplicitAutograd")
_library.impl("swap_generator_state", _swap, "CompositeExplicitAutograd")
