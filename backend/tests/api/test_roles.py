"""Which role may call what: every operation of the API, as every role, against the table in docs/roles.md.

    SHARDBOARD_WRITE_ROLES=1 pytest backend/tests/api/test_roles.py

writes the table anew; what changed is then read by a person.
"""

import base64
import os
import re
from pathlib import Path

import httpx
from backend.tests import pairs
from backend.tests.application import app_of

from shardboard.console import Console
from shardboard.driver.fake import FakeAgents
from shardboard.state.nodes import Node

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
backups are shown to those only who may change them. `refresh_jwt` wants a token, `/metrics` a login from other machines only
(policy `metrics_auth`), and `bootstrap/join` a join token.

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


async def test_who_may_call_what(
    console: Console, client: httpx.AsyncClient, agents: FakeAgents, nodes: list[Node]
) -> None:
    await pairs.active(console, agents)
    app = app_of(console)
    everybody: list[dict[str, str]] = []
    for name, role in (("somebody", "db_viewer"), *((role, role) for role in ROLES)):
        user = {"email": name, "password": PASSWORD, "role": role}
        assert (await client.post("/v1/users", json=user)).status_code == 200
        login = base64.b64encode(f"{name}:{PASSWORD}".encode()).decode()
        everybody.append({"Authorization": f"Basic {login}"})
    everybody = [*everybody[1:], {}]
    calls = [
        (method.upper(), path)
        for path, operations in sorted(app.openapi()["paths"].items())
        for method in ("get", "post", "put", "delete")
        if method in operations
    ]
    rows = []
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app), base_url="https://console") as opened:
        for method, path in calls:
            dots = ["●" if await lets_in(opened, login, method, path) else "" for login in everybody]
            opened.cookies.clear()
            rows.append(f"| `{method} {path}` | {' | '.join(dots)} |")
    found = HEAD + "\n".join([*header(), *rows]) + "\n"
    if os.environ.get("SHARDBOARD_WRITE_ROLES"):
        TABLE.write_text(found)
    assert TABLE.read_text().splitlines() == found.splitlines()
