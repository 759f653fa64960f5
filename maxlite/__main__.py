"""``python -m maxlite script.py``: see :mod:`maxlite._migration`."""

import sys

from maxlite._migration import main

if __name__ == "__main__":
    main(sys.argv[1:])
