"""`python -m qwenparse`: the same as the command `qwenparse`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
