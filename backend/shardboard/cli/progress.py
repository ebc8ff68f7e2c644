"""Progress of commands on the standard error stream."""

import sys


def print_progress(activity: str, table: str, done: int, total: int) -> None:
    """Print a line for each table, and rewrite it for each batch on a terminal."""
    is_complete = done >= total
    if sys.stderr.isatty():
        end = "\n" if is_complete else ""
        sys.stderr.write(f"\r\x1b[K{activity} {table}: {done} of {total} rows{end}")
    elif is_complete:
        sys.stderr.write(f"{activity} {table}: {done} rows\n")
    sys.stderr.flush()
