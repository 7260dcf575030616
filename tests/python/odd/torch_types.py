"""Odd programs: element types, layouts and kinds of tensor that an operator meets or makes."""

import torch
from odd.registry import mat, program, vec


@program(vec())
def made_of_bools(x):
    none = torch.zeros(6, dtype=torch.bool)
    return none, none | (x > 0), torch.zeros_like(x, dtype=torch.bool), torch.ones(2, dtype=torch.bool), x + 1
