"""Contexts: the consoles that the user has signed in to, with a token for each. Only the user can read the file."""

import os
from datetime import UTC, datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from shardboard.errors import CommandError
from shardboard.pki.key_files import write_private


class Context(BaseModel):
    """One console, and how to sign in to it."""

    model_config = ConfigDict(frozen=True)

    url: str
    username: str
    token: str
    ca: str | None = None
    """Trusted CA certificates (PEM); None: those of the operating system."""
    expires_at: datetime | None = None
    """Expiry of the token; None: it does not expire."""
    service_token_uid: int | None = None
    """Uid of the token if it is a service token, which `logout` deletes."""

    @property
    def is_expired(self) -> bool:
        return self.expires_at is not None and self.expires_at <= datetime.now(UTC)


class Contexts(BaseModel):
    """Content of the file. `current` is the name of the context that commands use by default."""

    current: str | None = None
    contexts: dict[str, Context] = {}

    def get(self, name: str | None) -> Context | None:
        """Return a context, by default the current one; None if there is no current one. Raises CommandError."""
        name = name or self.current
        if name is None:
            return None
        if name not in self.contexts:
            known = ", ".join(sorted(self.contexts)) or "none"
            raise CommandError(f"the context {name} does not exist (contexts: {known})")
        return self.contexts[name]

    def with_context(self, name: str, context: Context) -> "Contexts":
        """Return these contexts with a new one, which becomes the current one."""
        return Contexts(current=name, contexts={**self.contexts, name: context})

    def without(self, name: str) -> "Contexts":
        kept = {key: context for key, context in self.contexts.items() if key != name}
        return Contexts(current=None if self.current == name else self.current, contexts=kept)


def contexts_file() -> Path:
    if configured := os.environ.get("SHARDBOARD_CONTEXTS_FILE"):
        return Path(configured)
    base = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(base) / "shardboard" / "contexts.json"


def load() -> Contexts:
    """Raises CommandError if the file is not readable."""
    path = contexts_file()
    try:
        return Contexts.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        return Contexts()
    except (OSError, ValidationError) as error:
        reason = "it is damaged" if isinstance(error, ValidationError) else error.strerror
        raise CommandError(f"{path} is not readable ({reason}); correct or delete it") from error


def save(contexts: Contexts) -> None:
    """Raises CommandError if the file is not writable."""
    path = contexts_file()
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_private(path, contexts.model_dump_json(indent=2).encode())
    except OSError as error:
        raise CommandError(f"{path} is not writable: {error.strerror}") from error
