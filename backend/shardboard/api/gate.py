"""State of logins in memory (caches, throttles, counters), and recording of failed logins."""

from collections import Counter, OrderedDict
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from shardboard.db import Store
from shardboard.services import logins, passwords
from shardboard.services.turns import Turns
from shardboard.state import audit as trail
from shardboard.state import events
from shardboard.state.users import Password, User

_MAX_ALIASES = 10_000


@dataclass(frozen=True)
class Verified:
    """User whose password was verified, and the password that matched."""

    user: User
    password: Password
    has_failed: bool = False
    """Whether recent logins from the same source address failed."""


class Gate:
    """State of logins in memory: caches, throttles and counters."""

    def __init__(self) -> None:
        self.verifier = passwords.Verifier()
        self.audit = logins.AuditBudget()
        self.sso = Turns(8, 4, 64, 16)
        """Limits exchanges with the single sign-on provider. Many users may share one address."""
        self.sso_audit = logins.AuditBudget()
        self.directory = Turns(8, 4, 64, 16)
        """Limits queries to the directory, which may take seconds."""
        self.strangers = logins.Strangers()
        self.aliases: OrderedDict[str, int] = OrderedDict()
        """Uids of users by other user names that the directory accepts for them, in lower case."""
        self.streams: Counter[str] = Counter()
        """Number of open event streams by user name."""

    def note_alias(self, username: str, user: User) -> None:
        if username.lower() != user.email.lower():
            self.aliases[username.lower()] = user.uid
            if len(self.aliases) > _MAX_ALIASES:
                self.aliases.popitem(last=False)


_gates: WeakKeyDictionary[Store, Gate] = WeakKeyDictionary()


def gate(store: Store) -> Gate:
    """Return the gate of this store, which all listeners share."""
    return _gates.setdefault(store, Gate())


def look_again(store: Store) -> None:
    """Make open event streams check their logins again, because a user was changed or removed."""
    store.bus.publish("logins")


async def note_failure(
    store: Store, keeper: Gate, username: str, source: str, *, counts: bool, is_code: bool = False
) -> None:
    wrong = "code of the second factor" if is_code else "user name or password"
    listed, unlisted = keeper.audit.spend()
    if counts or listed:
        async with store.begin() as session:
            trail.aside(session)
            await logins.failed(
                session, username, source, wrong, counts=counts, audit=listed, unlisted=unlisted, is_code=is_code
            )


async def note_unavailable(store: Store, keeper: Gate, reason: str) -> None:
    listed, unlisted = keeper.audit.spend()
    if listed:
        more = f" {unlisted} more failures since the last recorded one." if unlisted else ""
        async with store.begin() as session:
            trail.aside(session)
            events.record(session, "authentication_err", reason + more, source="cluster", severity="WARNING")
