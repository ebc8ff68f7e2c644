"""Python sources as syntax trees."""

import ast
import gc
from pathlib import Path


def parse(path: Path) -> ast.Module:
    """Return the syntax tree of a source file.

    Python 3.11 before 3.11.5 raises `SystemError` if the garbage collector reports an unretrieved exception meanwhile, because
    the traceback is parsed too (https://github.com/python/cpython/issues/106905).
    """
    gc.disable()
    try:
        return ast.parse(path.read_text())
    finally:
        gc.enable()
