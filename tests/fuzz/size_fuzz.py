"""The programs of tensor_fuzz at many sizes, one after the other and back again: the program of expressions is compiled at the
third, numbers of all others are put into its plans, more than there are plans. A program was made for three of the sets; what
another set makes of it is eager's to say, an error too.

    python -m tests.fuzz.size_fuzz [--first 0] [--count 150] [--seconds 30] [--keep]
    python -m tests.fuzz.size_fuzz --show 17            prints the program of one seed
"""

import sys

from tests.fuzz import tensor_fuzz
from tests.fuzz.programs import main

tensor_fuzz.SETS = 9
tensor_fuzz.CALLS = (0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 3, 4, 1, 0)

if __name__ == "__main__":
    sys.exit(main(__doc__, tensor_fuzz.generate, tensor_fuzz.failure, "tensors", tensor_fuzz.what_was_covered))
