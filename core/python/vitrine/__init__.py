"""Vitrine: a compiler for PyTorch models that shows its work.

``vitrine.compile`` takes the place of ``torch.compile``::

    model = vitrine.compile(model)          # a module, a function, or as a decorator
    y = model(x)                            # the first call captures and compiles, later calls run the result

Whatever cannot be compiled runs as eager PyTorch runs it; ``vitrine.explain`` says what that was and why.
"""

import os
import sys

from vitrine import _environment

_environment.check()

from vitrine._polyfills import autograd_functions as _autograd_functions  # noqa: E402 (capture looks its functions up)
from vitrine._autograd import generator as _generator  # noqa: E402 (graphs call its operators)
from vitrine._polyfills import library as _library  # noqa: E402 (capture looks its functions up)
from vitrine._polyfills import made_inside as _made_inside  # noqa: E402 (capture looks its classes up)
from vitrine._polyfills import nonstrict as _nonstrict  # noqa: E402 (capture looks its functions up)
from vitrine._polyfills import optimizer_steps as _optimizer_steps  # noqa: E402 (capture looks its functions up)
from vitrine._polyfills import optimizers as _optimizers  # noqa: E402 (capture looks its functions up)
from vitrine._polyfills import signatures as _signatures  # noqa: E402 (capture asks it)
from vitrine._polyfills import standard_library as _standard_library  # noqa: E402 (capture looks its functions up)
from vitrine._polyfills import transforms as _transforms  # noqa: E402 (capture looks its functions up)

if "numpy" in sys.modules:
    from vitrine._polyfills import arrays as _arrays  # noqa: E402 (capture looks its functions up)

if "torch.distributed.distributed_c10d" in sys.modules:  # a PyTorch without it has no collectives
    from vitrine._polyfills import collectives as _collectives  # noqa: E402 (capture looks its functions up)

from vitrine import config  # noqa: E402
from vitrine._api import compile, disable, explain, is_compiling, reset  # noqa: E402
from vitrine._graphs import graph, register_pass  # noqa: E402
from vitrine._engine import __version__ as __version__  # noqa: E402
from vitrine._backends import register as _register_backend  # noqa: E402
from vitrine._errors import ConstraintViolationError, GraphBreakError, RecompileError, RecompileLimitError, VitrineWarning  # noqa: E402
from vitrine._knobs import knobs  # noqa: E402
from vitrine._module import OptimizedModule  # noqa: E402
from vitrine._graphs.packages import export  # noqa: E402
from vitrine._sizes import mark_dynamic, mark_static, mark_unbacked, maybe_mark_dynamic  # noqa: E402

__all__ = [
    "ConstraintViolationError",
    "GraphBreakError",
    "OptimizedModule",
    "RecompileError",
    "RecompileLimitError",
    "VitrineWarning",
    "allow_in_graph",
    "assume_constant_result",
    "compile",
    "config",
    "cudagraph_mark_step_begin",
    "disable",
    "disallow_in_graph",
    "explain",
    "export",
    "graph",
    "graph_break",
    "is_compiling",
    "is_dynamo_compiling",
    "is_exporting",
    "knobs",
    "list_backends",
    "mark_dynamic",
    "mark_static",
    "mark_unbacked",
    "maybe_mark_dynamic",
    "nested_compile_region",
    "register_pass",
    "reset",
    "set_stance",
]


def load_ipython_extension(shell) -> None:
    """``%load_ext vitrine`` in a notebook: the cell magic ``%%vitrine``."""
    from vitrine import _notebook

    _notebook.load(shell)


# PyTorch's own calls that hold for Vitrine as they are; torch._dynamo, which takes a while to load, is loaded when one is asked for.
_OF_PYTORCH = {
    "allow_in_graph": "torch.compiler",
    "assume_constant_result": "torch.compiler",
    "cudagraph_mark_step_begin": "torch.compiler",
    "disallow_in_graph": "torch._dynamo",
    "graph_break": "torch._dynamo",
    "is_dynamo_compiling": "torch.compiler",
    "is_exporting": "torch.compiler",
    "list_backends": "torch.compiler",
    "nested_compile_region": "torch.compiler",
    "set_stance": "torch.compiler",
}


def __getattr__(name):
    if name not in _OF_PYTORCH:
        raise AttributeError(f"module 'vitrine' has no attribute {name!r}")
    import importlib

    globals()[name] = found = getattr(importlib.import_module(_OF_PYTORCH[name]), name)
    return found


def __dir__():
    return sorted({*globals(), *__all__})


from vitrine import _trace as _trace  # noqa: E402 (all that it records with is there by now)

_trace.start()
_register_backend()

if "VITRINE_OPT_BISECT" in os.environ:
    from vitrine._tools.numerics import limits as _limits

    _limits.obey()
