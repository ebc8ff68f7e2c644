"""What is wrong with a wanted object, as a value: rules return it, services raise what it stands for."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class RequestFault:
    """`kind` decides the HTTP status: schema 400, invalid 406, conflict 409. `code` is stable."""

    kind: Literal["schema", "invalid", "conflict"]
    code: str
    sentence: str
    field: str
