"""Which role may call what: every operation of the API, as every role, against the table in docs/roles.md.

    SHARDBOARD_WRITE_ROLES=1 pytest backend/tests/api/test_roles.py

writes the table anew; what changed is then read by a person.
"""

import base64
import os
import re
from pathlib import Path

import httpx
import pytest
from backend.tests import pairs
from backend.tests.application import app_of

from shardboard.console import Console
from shardboard.driver.fake import FakeAgents

TABLE = Path(__file__).parents[3] / "docs" / "roles.md"
ROLES = ("admin", "cluster_member", "cluster_viewer", "db_member", "db_viewer", "user_manager", "none")
NOBODY = "no login"
PASSWORD = "correct horse"
HEAD = """# Roles

What each management role may call, found by the tests that send every call as every role (`backend/tests/api/test_roles.py`).
A dot says that it is let in, not that it succeeds. Everybody changes the own name and password with `PUT /v1/users/<uid>` and
`/v1/users/password`; of others, here one with the role db_viewer, the [guide](guide/users.md) says more. Roles of the cluster's
own may call what their management role may, and so may service tokens; those that reach some databases only may call
[less](guide/users.md#some-databases-only), call by call in `backend/tests/api/test_reach.py`. Passwords of databases and places of
backups are shown to those only who may change them. `refresh_jwt` requires a token and
`bootstrap/join` a join token. `/metrics` requires no login where the policy `metrics_auth` is off.

"""


def header() -> list[str]:
    names = (*ROLES, NOBODY)
    return [f"| Call | {' | '.join(names)} |", f"|---|{'|'.join([':-:'] * len(names))}|"]


async def lets_in(opened: httpx.AsyncClient, login: dict[str, str], method: str, path: str) -> bool:
    """Of what does not exist, but for users: whether one may change a user depends on whom."""
    url = re.sub(r"\{[^}]*\}", "999", path).replace("/users/999", "/users/2")
    body = None if method in ("GET", "DELETE") and "password" not in path else {}
    # A stream would not end; without a topic it does not begin.
    wrong = {"topics": "none"} if path == "/v1/stream" else {}
    reply = await opened.request(method, url, json=body, headers=login, params=wrong)
    assert reply.status_code < 500 or reply.status_code == 503, (method, path, reply.text)
    if reply.status_code in (401, 403):
        assert reply.json()["error_code"], (method, path)
    return reply.status_code not in (401, 403)


async def column(console: Console, client: httpx.AsyncClient, role: str) -> dict[str, str]:
    """Send every call of the API as a user of this role. Return the cells of its column by call."""
    app = app_of(console)
    login: dict[str, str] = {}
    for name, given in (("somebody", "db_viewer"), *([(role, role)] if role != NOBODY else [])):
        user = {"email": name, "password": PASSWORD, "role": given}
        assert (await client.post("/v1/users", json=user)).status_code == 200
        if name == role:
            login = {"Authorization": f"Basic {base64.b64encode(f'{name}:{PASSWORD}'.encode()).decode()}"}
    calls = [
        (method.upper(), path)
        for path, operations in sorted(app.openapi()["paths"].items())
        for method in ("get", "post", "put", "delete")
        if method in operations
    ]
    cells = {}
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="https://console") as opened:
        for method, path in calls:
            cells[f"`{method} {path}`"] = "●" if await lets_in(opened, login, method, path) else ""
            opened.cookies.clear()
    return cells


def columns_of(table: str) -> dict[str, dict[str, str]]:
    """Return the cells of the table by role and call."""
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines() if line.startswith("| `")]
    return {role: {row[0]: row[index] for row in rows} for index, role in enumerate((*ROLES, NOBODY), start=1)}


@pytest.mark.parametrize("role", [*ROLES, NOBODY])
@pytest.mark.usefixtures("nodes")
async def test_each_role_may_call_what_the_table_says(
    console: Console, client: httpx.AsyncClient, agents: FakeAgents, role: str
) -> None:
    await pairs.active(console, agents)
    found = await column(console, client, role)
    if os.environ.get("SHARDBOARD_WRITE_ROLES"):
        columns = {**columns_of(TABLE.read_text()), role: found}
        rows = [f"| {call} | {' | '.join(columns[name].get(call, '') for name in columns)} |" for call in found]
        TABLE.write_text(HEAD + "\n".join([*header(), *rows]) + "\n")
    text = TABLE.read_text()
    assert text.startswith(HEAD + "\n".join(header()))
    assert columns_of(text)[role] == found
