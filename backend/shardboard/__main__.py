"""Entry point of `python -m shardboard`, the same as the `shardboard` command."""

import sys

from shardboard.cli.main import main

sys.exit(main())
