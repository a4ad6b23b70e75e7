"""`python -m pamctl` is `pamctl`."""

import sys

from pamctl.cli.main import run

if __name__ == "__main__":
    sys.exit(run())
