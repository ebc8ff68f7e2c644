"""Path parameters. A uid that no object can have is not found, like any other unknown one."""

from typing import Annotated

from fastapi import Path

Uid = Annotated[int, Path(ge=1, le=2**31 - 1)]
