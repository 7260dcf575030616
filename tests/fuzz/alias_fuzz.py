"""The programs of tensor_fuzz with inputs that are views of one another: the same tensor twice, parts that overlap, strides that
sizes give, views that expand. How they share memory changes from call to call, and sizes do.

    python -m tests.fuzz.alias_fuzz [--first 0] [--count 150] [--seconds 30] [--keep]
    python -m tests.fuzz.alias_fuzz --show 17            prints the program of one seed
"""

import sys

from tests.fuzz import tensor_fuzz
from tests.fuzz.programs import main

tensor_fuzz.ALIASES = 0.6
tensor_fuzz.SETS = 5
tensor_fuzz.CALLS = (0, 0, 1, 2, 3, 4, 0, 2)

if __name__ == "__main__":
    sys.exit(main(__doc__, tensor_fuzz.generate, tensor_fuzz.failure, "tensors", tensor_fuzz.what_was_covered))
