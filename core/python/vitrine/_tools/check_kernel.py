"""Compiles a kernel's CUDA C++ for a GPU that need not be here: `python -m vitrine._tools.check_kernel FILE sm_90`.

Exit status: 0; 1 it does not compile, with NVRTC's words on stderr; 2 wrong arguments.
"""

import sys
from pathlib import Path


def main(argv: list[str]) -> int:
    if len(argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    from vitrine import _engine, config

    try:
        _engine.cuda_compile(Path(argv[0]).read_text(), argv[1], config.nvrtc)
    except Exception as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
