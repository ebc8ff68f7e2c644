"""What the proxy told of outages, kept until no console can miss it: it tells each only when it begins and when it is over.

A proxy tells its newest ones again to an agent that connects, and an agent all that it remembers to a console that does.
"""

import logging
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from shardboard.agent.contract import MAX_OUTAGES, Outage

log = logging.getLogger(__name__)

Name = tuple[int, str, int, int]


class Outages:
    """The newest, each as it was told last, in the order of telling."""

    def __init__(self) -> None:
        self._told: dict[Name, tuple[int, Outage]] = {}
        self._count = 0

    def add(self, said: Mapping[str, Any]) -> None:
        """Take an `outage` line. One that is not understood is no reason to hear no others."""
        try:
            outage = Outage.model_validate(said)
        except ValidationError as error:
            log.warning("proxy: an outage that it told is not understood: %s", error)
            return
        name = (outage.uid, outage.address, outage.port, outage.noticed_ms)
        before = self._told.pop(name, None)
        if before is not None and before[1] == outage:
            self._told[name] = before  # told again, because we had gone
            return
        self._count += 1
        self._told[name] = (self._count, outage)
        if len(self._told) > MAX_OUTAGES:
            del self._told[next(iter(self._told))]

    def since(self, number: int) -> tuple[int, list[Outage]]:
        """Those that were told after the one of this number, 0 for all; and the number to ask with next time."""
        return self._count, [outage for told, outage in self._told.values() if told > number]
