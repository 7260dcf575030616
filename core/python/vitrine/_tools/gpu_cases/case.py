"""What a case of the tables is made of."""

from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Program:
    """function(module, *args) -> a tensor, or several; module may be None. trains: the loss's backward belongs to a call.

    bytes: least traffic of a call, for the share of copy. reset(module) makes what calls change as it was at the begin.
    widen(module) makes float64 of what module.double() leaves.
    """

    function: Callable
    args: tuple
    module: object = None
    trains: bool = False
    bytes: int = 0
    reset: Callable | None = None
    widen: Callable | None = None


@dataclass
class Case:
    """make(torch) -> Program, with random weights and inputs on the table's device. tf32: float32 products may use TF32."""

    title: str
    make: Callable
    tf32: bool = False
