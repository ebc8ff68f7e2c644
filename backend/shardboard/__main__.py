"""Entry point of `python -m shardboard`, the same as the `shardboard` command."""

import sys

from shardboard.cli.main import main

if __name__ == "__main__":  # worker processes import this module
    sys.exit(main())
