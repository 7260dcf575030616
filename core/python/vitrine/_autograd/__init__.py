"""Compiled regions inside PyTorch's autograd: nodes, their edges, and backward passes over fake tensors."""
