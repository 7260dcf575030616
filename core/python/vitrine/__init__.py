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
from vitrine._polyfills import optimizer_steps as _optimizer_steps  # noqa: E402 (capture looks its functions up)
from vitrine._polyfills import optimizers as _optimizers  # noqa: E402 (capture looks its functions up)
from vitrine._polyfills import signatures as _signatures  # noqa: E402 (capture asks it)
from vitrine._polyfills import standard_library as _standard_library  # noqa: E402 (capture looks its functions up)
from vitrine._polyfills import transforms as _transforms  # noqa: E402 (capture looks its functions up)

if "numpy" in sys.modules:
    from vitrine._polyfills import arrays as _arrays  # noqa: E402 (capture looks its functions up)

from vitrine import config  # noqa: E402
from vitrine._api import compile, disable, explain, is_compiling, reset  # noqa: E402
from vitrine._graphs import graph, register_pass  # noqa: E402
from vitrine._engine import __version__ as __version__  # noqa: E402
from vitrine._errors import ConstraintViolationError, GraphBreakError, RecompileLimitError, VitrineWarning  # noqa: E402
from vitrine._module import OptimizedModule  # noqa: E402
from vitrine._sizes import mark_dynamic, mark_static, mark_unbacked, maybe_mark_dynamic  # noqa: E402

__all__ = [
    "ConstraintViolationError",
    "GraphBreakError",
    "OptimizedModule",
    "RecompileLimitError",
    "VitrineWarning",
    "compile",
    "config",
    "disable",
    "explain",
    "graph",
    "is_compiling",
    "mark_dynamic",
    "mark_static",
    "mark_unbacked",
    "maybe_mark_dynamic",
    "register_pass",
    "reset",
]


def load_ipython_extension(shell) -> None:
    """``%load_ext vitrine`` in a notebook: the cell magic ``%%vitrine``."""
    from vitrine import _notebook

    _notebook.load(shell)


from vitrine import _trace as _trace  # noqa: E402 (all that it records with is there by now)

_trace.start()

if "VITRINE_OPT_BISECT" in os.environ:
    from vitrine._tools.numerics import limits as _limits

    _limits.obey()
