"""A directory that answers as tests want it to, in place of a server."""

import asyncio
from typing import Any

import httpx

from shardboard.domain.ldap import Directory, Person, Unavailable

DBA, SHOP = "cn=dba,ou=groups,dc=example,dc=org", "cn=shop,ou=groups,dc=example,dc=org"
PASSWORD = "annpass"
SETTINGS: dict[str, Any] = {
    "uris": ["ldaps://ldap.example.org:636"],
    "control_plane": True,
    "bind_dn": "cn=reader,dc=example,dc=org",
    "bind_pass": "r3ader",
    "user_dn_template": "uid=%u,ou=people,dc=example,dc=org",
    "dn_group_attr": "memberOf",
}


class FakeDirectory:
    """Answers in place of a server; tests change its parts."""

    def __init__(self) -> None:
        self.passwords = {"ann": PASSWORD}
        self.groups: dict[str, list[str]] = {"ann": [SHOP]}
        self.dns: dict[str, str] = {}
        self.away = ""
        self.asked: list[str] = []
        self.looked: list[Directory] = []

    async def look(self, directory: Directory) -> None:
        self.looked.append(directory)
        if self.away:
            raise Unavailable(self.away)

    async def authenticate(self, directory: Directory, username: str, password: str) -> Person | None:
        self.asked.append(username)
        await asyncio.sleep(0)
        if self.away:
            raise Unavailable(self.away)
        known = username.strip().partition(":")[0].lower()  # as directories compare names, and worse
        if self.passwords.get(known) != password:
            return None
        return Person(self.dns.get(known, f"uid={known},ou=people,dc=example,dc=org"), self.groups.get(known, []))


async def basic(browser: httpx.AsyncClient, username: str = "ann", password: str = PASSWORD) -> int:
    return (await browser.get("/v1/bdbs", auth=(username, password))).status_code


async def told(client: httpx.AsyncClient, part: str) -> list[str]:
    """Descriptions of events."""
    return [each["description"] for each in (await client.get("/v1/logs")).json() if part in each["description"]]


async def log_in(browser: httpx.AsyncClient, username: str = "ann", password: str = PASSWORD) -> httpx.Response:
    return await browser.post("/v1/session", json={"username": username, "password": password})
