"""Outages reported by the proxy, kept until every console has received them: the proxy reports each only at its start and its end.

A proxy reports its newest outages again to an agent that connects. An agent reports all that it remembers to a console that
connects.
"""

import logging
from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from shardboard.contract import MAX_OUTAGES, Outage

log = logging.getLogger(__name__)

OutageKey = tuple[int, str, int, int]


class Outages:
    """The newest outages, each as last reported, in the order of the reports."""

    def __init__(self) -> None:
        self._reported: dict[OutageKey, tuple[int, Outage]] = {}
        self._count = 0

    def add(self, report: Mapping[str, Any]) -> None:
        """Add an `outage` line. An invalid line is logged and skipped."""
        try:
            outage = Outage.model_validate(report)
        except ValidationError as error:
            log.warning("proxy: invalid outage report: %s", error)
            return
        name = (outage.uid, outage.address, outage.port, outage.noticed_ms)
        previous = self._reported.pop(name, None)
        if previous is not None and previous[1] == outage:
            self._reported[name] = previous  # repeated after a reconnect
            return
        self._count += 1
        self._reported[name] = (self._count, outage)
        if len(self._reported) > MAX_OUTAGES:
            del self._reported[next(iter(self._reported))]

    def since(self, number: int) -> tuple[int, list[Outage]]:
        """Return the current report number and the outages reported after `number` (0 for all)."""
        return self._count, [outage for count, outage in self._reported.values() if count > number]
