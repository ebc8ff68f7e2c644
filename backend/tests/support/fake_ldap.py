"""A fake LDAP directory whose answers tests can change."""

import asyncio
from typing import Any

import httpx

from shardboard.domain.access.ldap import Directory, DirectoryUnavailable, DirectoryUser

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


class FakeLdapDirectory:
    """A directory without a server. Tests change its attributes."""

    def __init__(self) -> None:
        self.passwords = {"ann": PASSWORD}
        self.groups: dict[str, list[str]] = {"ann": [SHOP]}
        self.dns: dict[str, str] = {}
        self.error = ""
        self.attempts: list[str] = []
        self.checked: list[Directory] = []

    async def check(self, directory: Directory) -> None:
        self.checked.append(directory)
        if self.error:
            raise DirectoryUnavailable(self.error)

    async def authenticate(self, directory: Directory, username: str, password: str) -> DirectoryUser | None:
        self.attempts.append(username)
        await asyncio.sleep(0)
        if self.error:
            raise DirectoryUnavailable(self.error)
        name = username.strip().partition(":")[0].lower()  # more lenient than the name comparison of real directories
        if self.passwords.get(name) != password:
            return None
        return DirectoryUser(self.dns.get(name, f"uid={name},ou=people,dc=example,dc=org"), self.groups.get(name, []))


async def basic_auth_status(browser: httpx.AsyncClient, username: str = "ann", password: str = PASSWORD) -> int:
    return (await browser.get("/v1/bdbs", auth=(username, password))).status_code


async def event_descriptions(client: httpx.AsyncClient, part: str) -> list[str]:
    """Return the descriptions of events that contain `part`."""
    return [each["description"] for each in (await client.get("/v1/logs")).json() if part in each["description"]]


async def sign_in(browser: httpx.AsyncClient, username: str = "ann", password: str = PASSWORD) -> httpx.Response:
    return await browser.post("/v1/session", json={"username": username, "password": password})
