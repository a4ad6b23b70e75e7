"""`python -m pamctl` is `pamctl`."""

import sys

from pamctl.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
