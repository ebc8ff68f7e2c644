"""LDAP directory client that uses OpenLDAP's `ldapsearch`.

It runs as a separate process, because libldap does not limit the time of a TLS handshake with a server that accepts a connection
and sends nothing. Passwords are passed through a pipe, CA certificates in a file.
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

from shardboard.domain.access import ldap
from shardboard.domain.access.ldap import Ambiguous, Directory, DirectoryUnavailable, DirectoryUser, Query

PROGRAM = "ldapsearch"
MAX_ENTRIES = 1_000
MAX_BYTES = 4 * 2**20
"""Maximum size of a response."""
_TOO_MANY, _NO_SUCH_OBJECT, _WRONG_PASSWORD = 4, 32, 49
_REJECTING_CODES = {19, 48, 49, 50, 53}
"""Result codes of a bind as a user: servers also use them for locked and disabled accounts and accounts without a password."""
_UNREACHABLE = {1, 51, 52, 251, 255}
"""TLS refused, busy, unavailable, timed out, no connection. The last two are -5 and -1 in libldap."""
_NOT_UNIQUE = "The directory has more than one entry for the username: the filter of user_dn_query must match only one."
_ANY_OBJECT, _NO_ATTRIBUTES = "(objectClass=*)", "1.1"
_SCOPES = {"base": "base", "one": "one", "subtree": "sub"}
_CA_FILES = ("/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt")
"""Files in which Debian and Red Hat store the CA certificates of the system."""

T = TypeVar("T")


class _Unreachable(Exception):
    """This address does not respond; another one may. The text is a predicate."""


class _WrongPassword(Exception):
    pass


class _NoSuchBase(Exception):
    """The base of a search does not exist."""


class _TooMany(Exception):
    """There are more entries than requested."""


@dataclass(frozen=True)
class _Entry:
    dn: str
    attributes: Mapping[str, Sequence[str]]
    """By lowercase name."""


class LdapClient:
    """A client that all requests of the console share."""

    def __init__(self, program: str = PROGRAM) -> None:
        self._program = program
        self._failed: dict[str, float] = {}
        """When addresses did not respond; these are tried after all others."""

    async def check(self, directory: Directory) -> None:
        """Check that a directory responds and allows the console to search as configured. Raises Unavailable."""
        await self._with_first(directory, _check)

    async def authenticate(self, directory: Directory, username: str, password: str) -> DirectoryUser | None:
        """Return the user with their groups if the password is correct, otherwise None. Raises Unavailable."""
        if not username or not password:
            return None  # a server would treat this as an anonymous bind and accept it (RFC 4513, 5.1.2)
        return await self._with_first(directory, lambda search: _authenticate(search, username, password))

    async def _with_first(self, directory: Directory, ask: Callable[["_Search"], Awaitable[T]]) -> T:
        """Return the result of the first address that responds."""
        self._failed = {uri: failed_at for uri, failed_at in self._failed.items() if uri in directory.uris}
        reasons: list[str] = []
        timeout_count = 0
        try:
            with _home_directory(directory) as home:
                for uri in sorted(directory.uris, key=lambda uri: self._failed.get(uri, 0)):
                    start = time.monotonic()
                    try:
                        return await self._with_address(_Search(self._program, directory, uri, home), ask)
                    except _Unreachable as failure:
                        reasons.append(f"{uri} {failure}")
                    timeout_count += time.monotonic() - start > 0.9 * directory.directory_timeout_s
                    if timeout_count == 2:  # wait for two timeouts at most, regardless of the number of addresses
                        break
        except (OSError, ValueError) as reason:
            raise DirectoryUnavailable(f"The directory cannot be queried: {reason}.") from reason
        raise DirectoryUnavailable(f"The directory is unreachable: {'; '.join(reasons)}.")

    async def _with_address(self, search: "_Search", ask: Callable[["_Search"], Awaitable[T]]) -> T:
        """Return the result of one address. Raises _Unreachable."""
        seconds = search.directory.directory_timeout_s
        try:
            async with asyncio.timeout(seconds):
                result = await ask(search)
        except (TimeoutError, _Unreachable) as reason:
            self._failed[search.uri] = time.monotonic()
            raise _Unreachable(str(reason) or f"did not respond within {seconds} s") from reason
        self._failed.pop(search.uri, None)
        return result


@dataclass(frozen=True)
class _Search:
    """One address of a directory, and what a search needs."""

    program: str
    directory: Directory
    uri: str
    home: Path

    async def as_console(self, query: Query, *attributes: str, max_entries: int = MAX_ENTRIES) -> list[_Entry]:
        """Search as the console. Raises Unavailable if the directory rejects its credentials."""
        try:
            return await self.entries(
                self.directory.bind_dn, self.directory.bind_pass, query, *attributes, max_entries=max_entries
            )
        except _WrongPassword:
            raise DirectoryUnavailable("The directory rejected bind_dn and bind_pass.") from None

    async def entries(
        self, dn: str, password: str, query: Query, *attributes: str, max_entries: int = MAX_ENTRIES
    ) -> list[_Entry]:
        """Search with a bind as `dn`; empty: anonymous."""
        seconds = self.directory.directory_timeout_s
        query_filter = query.filter if query.filter.startswith("(") else f"({query.filter})"
        process = await self._start(
            *("-x", "-H", self.uri, "-LLL", "-o", "ldif-wrap=no"),
            *("-o", f"nettimeout={seconds}", "-l", str(seconds), "-z", str(max_entries)),
            *(("-ZZ",) if self.directory.starttls else ()),
            *(("-D", dn, "-y", "/dev/stdin") if dn else ()),
            *("-b", query.base, "-s", _SCOPES[query.scope], query_filter, *attributes),
        )
        try:
            output, errors = await _communicate(process, password.encode(errors="surrogatepass") if dn else b"")
        finally:
            await _end_process(process)
        return self._parse_result(process.returncode or 0, output, errors, bind_dn=dn)

    async def _start(self, *arguments: str) -> Process:
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH", ""),
            # Ignore LDAP settings of the machine and of users.
            "LDAPCONF": os.devnull,
            "HOME": str(self.home),
            "LDAPTLS_REQCERT": "demand",
            "LDAPTLS_CACERT": _ca_file(self.home),
        }
        try:
            return await asyncio.create_subprocess_exec(
                self.program, *arguments, stdin=PIPE, stdout=PIPE, stderr=PIPE, env=environment, cwd=self.home
            )
        except FileNotFoundError:
            message = (
                f"{self.program} is not installed on the console's machine. On Debian: apt-get install ldap-utils."
            )
            raise DirectoryUnavailable(message) from None

    def _parse_result(self, code: int, output: bytes, errors: bytes, bind_dn: str) -> list[_Entry]:
        message = " ".join(errors.decode(errors="replace").split())[:300]
        is_user = bind_dn not in ("", self.directory.bind_dn)
        if code == _WRONG_PASSWORD or (is_user and code in _REJECTING_CODES):
            raise _WrongPassword
        if code == _NO_SUCH_OBJECT:
            raise _NoSuchBase
        if code == _TOO_MANY:
            raise _TooMany
        if code in _UNREACHABLE:
            hint = ", or has no certificate of a trusted CA" if self.directory.is_encrypted else ""
            raise _Unreachable(f"does not respond{hint} ({message})")
        if code:
            raise DirectoryUnavailable(f"The directory returned an error: {message} ({code}).")
        return list(_parsed(output.decode(errors="replace")))


async def _check(search: _Search) -> None:
    """Check everything that does not need the password of a user."""
    with suppress(_NoSuchBase):  # only the bind matters
        await search.as_console(Query("", _ANY_OBJECT, "base"), _NO_ATTRIBUTES)
    for query in (
        search.directory.user_dn_query,
        search.directory.dn_group_query if search.directory.bind_dn else None,
    ):
        if query is None:
            continue
        try:
            # The placeholders match no entries, but the server checks the filters.
            await search.as_console(Query(query.base, query.filter, "base"), _NO_ATTRIBUTES)
        except _NoSuchBase:
            raise _missing_base_error(query.base) from None


def _missing_base_error(base: str) -> DirectoryUnavailable:
    return DirectoryUnavailable(
        f"The directory has no entry {base} as the base of a search, or the console is not permitted to read it."
    )


async def _authenticate(search: _Search, username: str, password: str) -> DirectoryUser | None:
    dn = await _dn_of(search, username)
    if dn is None:
        return None
    try:
        # Every user can read this entry, and it contains no information about others.
        with suppress(_NoSuchBase):
            await search.entries(dn, password, Query("", _ANY_OBJECT, "base"), _NO_ATTRIBUTES)
    except _WrongPassword:
        return None
    return DirectoryUser(dn, await _groups_of(search, dn, password))


async def _dn_of(search: _Search, username: str) -> str | None:
    if search.directory.user_dn_query is None:
        return ldap.filled(search.directory.user_dn_template, ldap.USER, username)
    query = search.directory.user_dn_query
    try:
        filled_query = Query(query.base, ldap.filled(query.filter, ldap.USER, username), query.scope)
        entries = await search.as_console(filled_query, _NO_ATTRIBUTES, max_entries=2)
    except _NoSuchBase:
        raise _missing_base_error(query.base) from None
    except _TooMany:
        raise Ambiguous(_NOT_UNIQUE) from None
    if len(entries) > 1:
        raise Ambiguous(_NOT_UNIQUE)
    return entries[0].dn if entries else None


async def _groups_of(search: _Search, dn: str, password: str) -> Sequence[str]:
    """Search for the groups as the console, or as the user if the console has no bind DN."""
    directory = search.directory
    credentials = (directory.bind_dn, directory.bind_pass) if directory.bind_dn else (dn, password)
    try:
        if directory.dn_group_query is None:
            name = directory.dn_group_attr
            entries = await search.entries(*credentials, Query(dn, _ANY_OBJECT, "base"), name)
            return [group for entry in entries for group in entry.attributes.get(name.lower(), ())]
        query = directory.dn_group_query
        filled_query = Query(query.base, ldap.filled(query.filter, ldap.DN, dn), query.scope)
        return [entry.dn for entry in await search.entries(*credentials, filled_query, _NO_ATTRIBUTES)]
    except _NoSuchBase:
        # A result without groups would sign the user out of all sessions.
        raise _missing_base_error(directory.dn_group_query.base if directory.dn_group_query else dn) from None
    except _TooMany:
        raise DirectoryUnavailable(
            f"The directory does not return all groups of a user, or the user has more than {MAX_ENTRIES}."
        ) from None
    except _WrongPassword:
        raise DirectoryUnavailable("The directory rejected bind_dn and bind_pass.") from None


@contextmanager
def _home_directory(directory: Directory) -> Iterator[Path]:
    """Create a home directory without LDAP settings of other users, but with the CA certificates."""
    with tempfile.TemporaryDirectory(prefix="shardboard-ldap-") as name:
        home = Path(name)
        if directory.ca_cert:
            (home / "ca.pem").write_text(directory.ca_cert)
        yield home


def _ca_file(home: Path) -> str:
    ca_path = home / "ca.pem"
    return str(ca_path) if ca_path.exists() else next((each for each in _CA_FILES if Path(each).exists()), "")


async def _communicate(process: Process, sent: bytes) -> tuple[bytes, bytes]:
    """Return stdout and stderr. Raises Unavailable if the output is too large for the memory of the console."""
    into, out, err = process.stdin, process.stdout, process.stderr
    if into is None or out is None or err is None:
        raise ValueError("no pipes")
    with suppress(BrokenPipeError, ConnectionResetError):
        into.write(sent)
        await into.drain()
    into.close()
    tasks = [asyncio.create_task(_all_of(stream)) for stream in (out, err)]
    try:
        output, errors = await asyncio.gather(*tasks)
    finally:
        for each in tasks:
            each.cancel()
        await asyncio.wait(tasks)
    await process.wait()
    return output, errors


async def _all_of(stream: asyncio.StreamReader) -> bytes:
    content = bytearray()
    while part := await stream.read(2**16):
        content += part
        if len(content) > MAX_BYTES:
            raise DirectoryUnavailable(f"The response of the directory is larger than {MAX_BYTES >> 20} MiB.")
    return bytes(content)


async def _end_process(process: Process) -> None:
    if process.returncode is None:
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()  # read the remaining output, so that the pipes are closed


def _parsed(text: str) -> Iterator[_Entry]:
    """Parse LDIF without folded lines (RFC 2849)."""
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
