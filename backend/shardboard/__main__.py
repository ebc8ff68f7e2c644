"""`python -m shardboard` is the `shardboard` command."""

import sys

from shardboard.cli import main

sys.exit(main())
