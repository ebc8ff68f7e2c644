"""What is remembered of logins while the console runs, and where failures are noted."""

from collections import Counter, OrderedDict
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from shardboard.db import Store
from shardboard.services import logins, passwords
from shardboard.services.turns import Turns
from shardboard.state import audit as trail
from shardboard.state import events
from shardboard.state.users import Password, User

_MOST_ALIASES = 10_000


@dataclass(frozen=True)
class Verified:
    """A user, and which of the passwords it was."""

    user: User
    password: Password
    has_failed: bool = False
    """From there, lately."""


class Gate:
    """What is remembered of logins while the console runs."""

    def __init__(self) -> None:
        self.verifier = passwords.Verifier()
        self.audit = logins.AuditBudget()
        self.sso = Turns(8, 4, 64, 16)
        """Exchanges with the provider of single sign-on. Many people may come from one address."""
        self.sso_audit = logins.AuditBudget()
        self.directory = Turns(8, 4, 64, 16)
        """Questions to the directory, which may take seconds."""
        self.strangers = logins.Strangers()
        self.aliases: OrderedDict[str, int] = OrderedDict()
        """Uids of users by other names that the directory knows them by, too; in lower case."""
        self.streams: Counter[str] = Counter()
        """Open event streams by user."""

    def note_alias(self, username: str, user: User) -> None:
        if username.lower() != user.email.lower():
            self.aliases[username.lower()] = user.uid
            if len(self.aliases) > _MOST_ALIASES:
                self.aliases.popitem(last=False)


_gates: WeakKeyDictionary[Store, Gate] = WeakKeyDictionary()


def gate(store: Store) -> Gate:
    """The one gate of this store, whichever port a request came in by."""
    return _gates.setdefault(store, Gate())


def look_again(store: Store) -> None:
    """Have open event streams prove again that their logins hold: those of a user who was changed or removed may not."""
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
        more = f" {unlisted} more failures since the last one listed." if unlisted else ""
        async with store.begin() as session:
            trail.aside(session)
            events.record(session, "authentication_err", reason + more, source="cluster", severity="WARNING")
