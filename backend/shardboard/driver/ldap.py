"""A directory, asked by OpenLDAP's own client.

It runs in a process of its own: within ours nothing bounds the time that libldap takes for a TLS handshake with a server that
accepts a connection and says nothing more. Passwords go by a pipe, certificates of authorities by a file.
"""

import asyncio
import base64
import os
import tempfile
import time
from asyncio.subprocess import PIPE, Process
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from shardboard.domain import ldap
from shardboard.domain.ldap import Ambiguous, Directory, Person, Query, Unavailable

PROGRAM = "ldapsearch"
MOST_ENTRIES = 1_000
MOST_BYTES = 4 * 2**20
"""Of an answer."""
_TOO_MANY, _NO_SUCH_OBJECT, _WRONG_PASSWORD = 4, 32, 49
_REFUSED = {19, 48, 49, 50, 53}
"""Answers to somebody's password: what servers say of locked and disabled accounts, and of those without one, too."""
_AWAY = {1, 51, 52, 251, 255}
"""TLS refused, busy, unavailable, timed out, no contact: the last two are -5 and -1 of libldap."""
_TWICE = "The directory has more than one entry for a name that somebody typed: the filter of people has to find one."
_EVERYTHING, _NO_ATTRIBUTES = "(objectClass=*)", "1.1"
_SCOPES = {"base": "base", "one": "one", "subtree": "sub"}
_AUTHORITIES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
"""Where Debian and Red Hat keep what the system trusts, in one file."""

T = TypeVar("T")


class _Away(Exception):
    """This address does not answer; another may. A sentence's end."""


class _WrongPassword(Exception):
    pass


class _NoSuchBase(Exception):
    """Where a search begins there is nothing."""


class _TooMany(Exception):
    """More entries than were asked for."""


@dataclass(frozen=True)
class _Entry:
    dn: str
    attributes: Mapping[str, Sequence[str]]
    """By name in lower case."""


class LdapClient:
    """One for the console."""

    def __init__(self, program: str = PROGRAM) -> None:
        self._program = program
        self._failed: dict[str, float] = {}
        """When addresses did not answer: they are asked after all others."""

    async def look(self, directory: Directory) -> None:
        """Whether there is one that lets the console search as it was told to. Raises Unavailable."""
        await self._of_first(directory, _look)

    async def authenticate(self, directory: Directory, username: str, password: str) -> Person | None:
        """Whose password it is, with the groups; None: nobody's. Raises Unavailable."""
        if not username or not password:
            return None  # a server would take it for nobody, and not refuse it (RFC 4513, 5.1.2)
        return await self._of_first(directory, lambda search: _authenticate(search, username, password))

    async def _of_first(self, directory: Directory, ask: Callable[["_Search"], Awaitable[T]]) -> T:
        """What the first address says that answers."""
        self._failed = {uri: at for uri, at in self._failed.items() if uri in directory.uris}
        reasons: list[str] = []
        silent = 0
        try:
            with _home(directory) as home:
                for uri in sorted(directory.uris, key=lambda uri: self._failed.get(uri, 0)):
                    began = time.monotonic()
                    try:
                        return await self._of(_Search(self._program, directory, uri, home), ask)
                    except _Away as away:
                        reasons.append(f"{uri} {away}")
                    silent += time.monotonic() - began > 0.9 * directory.directory_timeout_s
                    if silent == 2:  # however many addresses there are, nobody waits for more
                        break
        except (OSError, ValueError) as reason:
            raise Unavailable(f"The directory cannot be asked: {reason}.") from reason
        raise Unavailable(f"The directory cannot be reached: {'; '.join(reasons)}.")

    async def _of(self, search: "_Search", ask: Callable[["_Search"], Awaitable[T]]) -> T:
        """What that address says. Raises _Away."""
        seconds = search.directory.directory_timeout_s
        try:
            async with asyncio.timeout(seconds):
                found = await ask(search)
        except (TimeoutError, _Away) as reason:
            self._failed[search.uri] = time.monotonic()
            raise _Away(str(reason) or f"does not answer within {seconds} s") from reason
        self._failed.pop(search.uri, None)
        return found


@dataclass(frozen=True)
class _Search:
    """One address, and what a search of it needs."""

    program: str
    directory: Directory
    uri: str
    home: Path

    async def as_console(self, query: Query, *attributes: str, most: int = MOST_ENTRIES) -> list[_Entry]:
        """Raises Unavailable where the console itself is not let in."""
        try:
            return await self.entries(self.directory.bind_dn, self.directory.bind_pass, query, *attributes, most=most)
        except _WrongPassword:
            raise Unavailable("The directory refuses bind_dn with bind_pass.") from None

    async def entries(
        self, dn: str, password: str, query: Query, *attributes: str, most: int = MOST_ENTRIES
    ) -> list[_Entry]:
        """As whom `dn` names; empty: as nobody."""
        seconds = self.directory.directory_timeout_s
        found = query.filter if query.filter.startswith("(") else f"({query.filter})"
        process = await self._start(
            *("-x", "-H", self.uri, "-LLL", "-o", "ldif-wrap=no"),
            *("-o", f"nettimeout={seconds}", "-l", str(seconds), "-z", str(most)),
            *(("-ZZ",) if self.directory.starttls else ()),
            *(("-D", dn, "-y", "/dev/stdin") if dn else ()),
            *("-b", query.base, "-s", _SCOPES[query.scope], found, *attributes),
        )
        try:
            said, complaint = await _talk(process, password.encode(errors="surrogatepass") if dn else b"")
        finally:
            await _end(process)
        return self._understand(process.returncode or 0, said, complaint, as_whom=dn)

    async def _start(self, *arguments: str) -> Process:
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", ""),
            # Of what a machine or a user sets for their own purposes nothing counts.
            "LDAPCONF": os.devnull,
            "HOME": str(self.home),
            "LDAPTLS_REQCERT": "demand",
            "LDAPTLS_CACERT": _authorities(self.home),
        }
        try:
            return await asyncio.create_subprocess_exec(
                self.program, *arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment, cwd=self.home
            )
        except FileNotFoundError:
            sentence = f"{self.program} is not installed on the console's machine; Debian: apt-get install ldap-utils."
            raise Unavailable(sentence) from None

    def _understand(self, code: int, said: bytes, complaint: bytes, as_whom: str) -> list[_Entry]:
        told = " ".join(complaint.decode(errors="replace").split())[:300]
        is_person = as_whom not in ("", self.directory.bind_dn)
        if code == _WRONG_PASSWORD or (is_person and code in _REFUSED):
            raise _WrongPassword
        if code == _NO_SUCH_OBJECT:
            raise _NoSuchBase
        if code == _TOO_MANY:
            raise _TooMany
        if code in _AWAY:
            hint = ", or has no certificate of an authority that is trusted" if self.directory.is_encrypted else ""
            raise _Away(f"does not answer{hint} ({told})")
        if code:
            raise Unavailable(f"The directory does not do what it is asked: {told} ({code}).")
        return list(_parsed(said.decode(errors="replace")))


async def _look(search: _Search) -> None:
    """Everything but a person's password, and what a person alone may read."""
    with suppress(_NoSuchBase):  # that it was let in is all that counts
        await search.as_console(Query("", _EVERYTHING, "base"), _NO_ATTRIBUTES)
    for query in (
        search.directory.user_dn_query,
        search.directory.dn_group_query if search.directory.bind_dn else None,
    ):
        if query is None:
            continue
        try:
            # Placeholders find nobody, and filters are looked at.
            await search.as_console(Query(query.base, query.filter, "base"), _NO_ATTRIBUTES)
        except _NoSuchBase:
            raise _nothing_below(query.base) from None


def _nothing_below(base: str) -> Unavailable:
    return Unavailable(f"In the directory there is nothing with the name {base} to search below, or it is not shown.")


async def _authenticate(search: _Search, username: str, password: str) -> Person | None:
    dn = await _dn_of(search, username)
    if dn is None:
        return None
    try:
        # Everybody may read this entry, and nothing is told of others.
        with suppress(_NoSuchBase):
            await search.entries(dn, password, Query("", _EVERYTHING, "base"), _NO_ATTRIBUTES)
    except _WrongPassword:
        return None
    return Person(dn, await _groups_of(search, dn, password))


async def _dn_of(search: _Search, username: str) -> str | None:
    if search.directory.user_dn_query is None:
        return ldap.filled(search.directory.user_dn_template, ldap.USER, username)
    query = search.directory.user_dn_query
    try:
        wanted = Query(query.base, ldap.filled(query.filter, ldap.USER, username), query.scope)
        found = await search.as_console(wanted, _NO_ATTRIBUTES, most=2)
    except _NoSuchBase:
        raise _nothing_below(query.base) from None
    except _TooMany:
        raise Ambiguous(_TWICE) from None
    if len(found) > 1:
        raise Ambiguous(_TWICE)
    return found[0].dn if found else None


async def _groups_of(search: _Search, dn: str, password: str) -> Sequence[str]:
    """Looked for as the console, or without a DN of its own as the person."""
    directory = search.directory
    whose = (directory.bind_dn, directory.bind_pass) if directory.bind_dn else (dn, password)
    try:
        if directory.dn_group_query is None:
            name = directory.dn_group_attr
            entries = await search.entries(*whose, Query(dn, _EVERYTHING, "base"), name)
            return [group for entry in entries for group in entry.attributes.get(name.lower(), ())]
        query = directory.dn_group_query
        wanted = Query(query.base, ldap.filled(query.filter, ldap.DN, dn), query.scope)
        return [entry.dn for entry in await search.entries(*whose, wanted, _NO_ATTRIBUTES)]
    except _NoSuchBase:
        # Without groups the person would be signed out everywhere.
        raise _nothing_below(directory.dn_group_query.base if directory.dn_group_query else dn) from None
    except _TooMany:
        raise Unavailable(
            f"The directory does not tell all groups of a person, or has more than {MOST_ENTRIES}."
        ) from None
    except _WrongPassword:
        raise Unavailable("The directory refuses bind_dn with bind_pass.") from None


@contextmanager
def _home(directory: Directory) -> Iterator[Path]:
    """Where the program finds no settings of anybody, but authorities."""
    with tempfile.TemporaryDirectory(prefix="shardboard-ldap-") as name:
        home = Path(name)
        if directory.ca_cert:
            (home / "ca.pem").write_text(directory.ca_cert)
        yield home


def _authorities(home: Path) -> str:
    own = home / "ca.pem"
    return str(own) if own.exists() else next((each for each in _AUTHORITIES if Path(each).exists()), "")


async def _talk(process: Process, sent: bytes) -> tuple[bytes, bytes]:
    """What it says to what it is sent. Raises Unavailable: a server may say more than a console can hold."""
    into, out, err = process.stdin, process.stdout, process.stderr
    if into is None or out is None or err is None:
        raise ValueError("no pipes")
    with suppress(BrokenPipeError, ConnectionResetError):
        into.write(sent)
        await into.drain()
    into.close()
    both = [asyncio.create_task(_all_of(stream)) for stream in (out, err)]
    try:
        said, complaint = await asyncio.gather(*both)
    finally:
        for each in both:
            each.cancel()
        await asyncio.wait(both)
    await process.wait()
    return said, complaint


async def _all_of(stream: asyncio.StreamReader) -> bytes:
    read = bytearray()
    while part := await stream.read(2**16):
        read += part
        if len(read) > MOST_BYTES:
            raise Unavailable(f"The directory answers with more than {MOST_BYTES >> 20} MiB.")
    return bytes(read)


async def _end(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()  # what it has said already, so that its pipes are closed


def _parsed(text: str) -> Iterator[_Entry]:
    """LDIF without folded lines (RFC 2849)."""
    for block in text.replace("\r\n", "\n").split("\n\n"):
        attributes: dict[str, list[str]] = {}
        for line in block.splitlines():
            name, colon, value = line.partition(":")
            if not colon or line.startswith("#"):
                continue
            if value.startswith(":"):
                value = base64.b64decode(value[1:].strip()).decode(errors="replace")
            else:
                value = value.removeprefix(" ")
            attributes.setdefault(name.lower(), []).append(value)
        if dn := attributes.pop("dn", None):
            yield _Entry(dn[0], attributes)
