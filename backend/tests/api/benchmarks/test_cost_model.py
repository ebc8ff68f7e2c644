"""Tests of the cost model, over HTTP."""

from typing import Any

import httpx
import pytest

PATH = "/v1/benchmarks/cost_model"
PRICES: dict[str, Any] = {"currency": "EUR per month", "ram_gb": 3.5, "flash_gb": 0.12, "node": 180}


async def test_prices_are_stored_with_an_event(client: httpx.AsyncClient) -> None:
    assert (await client.get(PATH)).json() == {"prices": None}
    assert (await client.put(PATH, json=PRICES)).json() == {"prices": PRICES}
    assert (await client.get(PATH)).json() == {"prices": PRICES}
    events = (await client.get("/v1/logs", params={"limit": 1, "order": "desc"})).json()
    assert "3.5 per GB of RAM, 0.12 per GB of flash, and 180 per node" in events[0]["description"]


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"ram_gb": -1}, "ram_gb"),
        ({"flash_gb": 1e10}, "flash_gb"),
        ({"node": "180"}, "node"),
        ({"node": None}, "node"),
        ({"currency": ""}, "currency"),
        ({"currency": " EUR"}, "currency"),
        ({"currency": "x" * 33}, "currency"),
        ({"ram_gb": ...}, "ram_gb"),
        ({"currency": ...}, "currency"),
    ],
)
async def test_invalid_and_missing_prices_change_nothing(
    client: httpx.AsyncClient, change: dict[str, Any], field: str
) -> None:
    await client.put(PATH, json=PRICES)
    body = {name: value for name, value in {**PRICES, "ram_gb": 9, **change}.items() if value is not ...}
    reply = await client.put(PATH, json=body)
    assert (reply.status_code, field in reply.json()["description"]) == (400, True), reply.text
    assert (await client.get(PATH)).json() == {"prices": PRICES}


async def test_infinite_prices_are_refused(client: httpx.AsyncClient) -> None:
    body = '{"currency": "EUR", "ram_gb": 1e999, "flash_gb": 1, "node": 1}'
    reply = await client.put(PATH, content=body, headers={"Content-Type": "application/json"})
    assert reply.status_code == 400
    assert (await client.get(PATH)).json() == {"prices": None}
