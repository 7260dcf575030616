"""Graphs of the compiler as ``torch.fx`` modules, for people: of each stage, and on the way through the pipeline."""

from vitrine._graphs.passes import RegisteredPass, register_pass
from vitrine._graphs.stages import graph

__all__ = ["RegisteredPass", "graph", "register_pass"]
