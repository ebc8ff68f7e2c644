"""Python sources as syntax trees."""

import ast
import gc
from pathlib import Path


def parse(path: Path) -> ast.Module:
    """Return the syntax tree of a source file.

    The garbage collector must not run while the tree is built: if it reports an unretrieved exception, the traceback is parsed
    too, and Python before 3.11.5 then raises `SystemError` (https://github.com/python/cpython/issues/106905).
    """
    gc.disable()
    try:
        return ast.parse(path.read_text())
    finally:
        gc.enable()
