"""Addresses of a database that clients must leave, as they are stored with it: `{node: ISO time}`, until when each answers."""

from collections.abc import Mapping
from datetime import datetime


def read(stored: Mapping[str, str]) -> dict[int, datetime]:
    return {int(node): datetime.fromisoformat(until) for node, until in stored.items()}


def stored(retiring: Mapping[int, datetime]) -> dict[str, str]:
    return {str(node): until.isoformat() for node, until in sorted(retiring.items())}
