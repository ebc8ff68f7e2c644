"""Tests of the connection limit of shards."""

import pytest

from shardboard.domain.databases.connection_reserve import RESERVED, engine_limit


@pytest.mark.parametrize(("maxclients", "engines", "bus"), [(10_000, 1, 0), (1, 2, 2), (1000, 1024, 2046)])
def test_clients_keep_their_connections_in_addition_to_reserve_and_bus(maxclients: int, engines: int, bus: int) -> None:
    assert engine_limit(maxclients, engines) - bus - RESERVED == maxclients
