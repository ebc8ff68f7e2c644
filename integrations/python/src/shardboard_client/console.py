"""Objects of a console and their actions, on top of the generated requests."""

import os
import pkgutil
import ssl
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any, Generic, Protocol, Self, TypeVar
from urllib.parse import urlsplit

import httpx

from shardboard_client import errors
from shardboard_client.rest import AuthenticatedClient, api, models
from shardboard_client.rest.api.actions import get_action_v2_actions_action_uid_get as get_action

POLL_SECONDS = 20
"""Time for which the console may delay the response to a poll of an action."""
UNREACHABLE_SECONDS = 60
"""Time for which a wait continues although the console is unreachable."""
_THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
"""Hosts to which the token can be sent without TLS."""


class _Fields(Protocol):
    @classmethod
    def from_dict(cls, src_dict: Any) -> Self: ...


Model = TypeVar("Model")


@dataclass(frozen=True)
class _Kind:
    """A kind of object: the package and the path of its requests, and the models of their bodies."""

    package: str
    path: str
    changes: type[_Fields]
    new: type[_Fields] | None = None
    """None: the REST API cannot create and delete objects of this kind."""

    @cache  # noqa: B019 - there is one instance per kind
    def request(self, method: str) -> ModuleType:
        """Return the generated request with this end of its name, for example `post` or `uid_get`."""
        package = f"{api.__name__}.{self.package}"
        for module in pkgutil.iter_modules(import_module(package).__path__):
            if module.name.endswith(f"_v1_{self.path}_{method}"):
                return import_module(f"{package}.{module.name}")
        raise errors.ShardboardError(f"the REST API has no request {method} for {self.path}")


class Item(Generic[Model]):
    """An object of the console. `data` contains its fields, which are also attributes of the item (`database.port`)."""

    def __init__(self, collection: "Collection[Model]", data: Model, action_uid: str | None = None) -> None:
        self._collection = collection
        self._action_uid = action_uid or getattr(data, "action_uid", None) or None
        self.data = data

    def __getattr__(self, name: str) -> Any:
        return getattr(self.data, name)

    def __repr__(self) -> str:
        return f"Item({self.data!r})"

    def refresh(self) -> Self:
        """Read the fields again."""
        self.data = self._collection.get(self.uid).data
        return self

    def update(self, **fields: Any) -> Self:
        """Change fields. Call `wait` to wait for the end of the action."""
        changed = self._collection.update(self.uid, **fields)
        self.data, self._action_uid = changed.data, changed._action_uid
        return self

    def delete(self) -> Self:
        """Delete the object. Call `wait` to wait for the end of the action."""
        self._action_uid = self._collection.delete(self.uid)._action_uid
        return self

    def wait(self, timeout: float = 300) -> Self:
        """Wait for the action that the last request started, and read the fields again. `timeout` is in seconds.

        Return immediately if the request did not start an action. Raises ActionFailed and WaitTimedOut.
        """
        if self._action_uid:
            self._collection.console.wait(self._action_uid, timeout)
            self._action_uid = None
            with suppress(errors.NotFound):  # the action has deleted the object
                self.refresh()
        return self


class Collection(Generic[Model]):
    """All objects of a kind. An object is identified by its uid or its name."""

    def __init__(self, console: "Shardboard", kind: _Kind) -> None:
        self.console = console
        self._kind = kind

    def __iter__(self) -> Iterator[Item[Model]]:
        return iter(self.list())

    def list(self, **parameters: Any) -> "list[Item[Model]]":
        """Return the objects. Parameters are those of the list request, such as `name`, `sort`, and `limit`."""
        return [Item(self, data) for data in self.console.call(self._kind.request("get"), **parameters)]

    def get(self, identifier: int | str) -> Item[Model]:
        """Return the object with a uid (number) or a name (text). Raises NotFound."""
        if isinstance(identifier, int):
            return Item(self, self.console.call(self._kind.request("uid_get"), identifier))
        found = [item for item in self.list(name=identifier) if item.name == identifier]
        if not found:
            raise errors.rejection(404, f'{{"description": "{identifier} does not exist"}}'.encode())
        if len(found) > 1:
            uids = ", ".join(str(item.uid) for item in found)
            raise errors.ShardboardError(f"several objects have the name {identifier}; use one of the uids {uids}")
        return found[0]

    def create(self, *, idempotency_key: str | None = None, **fields: Any) -> Item[Model]:
        """Create an object. With the same `idempotency_key`, a repeated request does not create a second object."""
        if not self._kind.new:
            raise errors.ShardboardError(f"the REST API cannot create {self._kind.path}")
        more = {"idempotency_key": idempotency_key} if idempotency_key else {}
        body = _body(self._kind.new, fields)
        return Item(self, self.console.call(self._kind.request("post"), body=body, strict="true", **more))

    def update(self, identifier: int | str, **fields: Any) -> Item[Model]:
        """Change fields of an object."""
        uid = identifier if isinstance(identifier, int) else int(self.get(identifier).uid)
        body = _body(self._kind.changes, fields)
        return Item(self, self.console.call(self._kind.request("uid_put"), uid, body=body, strict="true"))

    def delete(self, identifier: int | str) -> Item[Model]:
        """Delete an object, and return it with its previous fields."""
        item = self.get(identifier)
        reply = self.console.call(self._kind.request("uid_delete"), item.uid)
        return Item(self, item.data, getattr(reply, "action_uid", None))


class Shardboard:
    """A console.

    `token` is a service token. `ca_file` contains the certificate of the console CA; None: the CAs of the operating system.
    `timeout` is the number of seconds after which a request fails with ConsoleUnreachable.
    """

    def __init__(self, url: str, token: str, *, ca_file: str | Path | None = None, timeout: float = 60) -> None:
        parts = urlsplit(url)
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in _THIS_MACHINE):
            raise ValueError(f"{url} is not a URL such as https://console.example.org:9443")
        self.client = AuthenticatedClient(
            base_url=url.rstrip("/"),
            token=token,
            timeout=httpx.Timeout(timeout),
            verify_ssl=_trust(ca_file),
        )
        """Client for the generated functions in `shardboard_client.rest.api`."""
        self.databases: Collection[models.Bdb] = Collection(self, _DATABASES)
        self.nodes: Collection[models.Node] = Collection(self, _NODES)
        self.users: Collection[models.UserOut] = Collection(self, _USERS)
        self.roles: Collection[models.Role] = Collection(self, _ROLES)
        self.acls: Collection[models.Acl] = Collection(self, _ACLS)
        self.ldap_mappings: Collection[models.MappingOut] = Collection(self, _MAPPINGS)
        self.webhooks: Collection[models.Webhook] = Collection(self, _WEBHOOKS)

    @classmethod
    def from_environment(cls) -> Self:
        """Return the console of the variables `SHARDBOARD_URL`, `SHARDBOARD_TOKEN`, and optionally `SHARDBOARD_CA_FILE`."""
        return cls(
            os.environ["SHARDBOARD_URL"], os.environ["SHARDBOARD_TOKEN"], ca_file=os.environ.get("SHARDBOARD_CA_FILE")
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.client.get_httpx_client().close()

    def call(self, request: ModuleType, *arguments: Any, **parameters: Any) -> Any:
        """Send a generated request, such as the module `get_policy_v1_cluster_policy_get`, and return its parsed response.

        Raises RequestRejected and ConsoleUnreachable.
        """
        try:
            reply = request.sync_detailed(*arguments, client=self.client, **parameters)
        except httpx.TransportError as error:
            raise errors.ConsoleUnreachable(f"the console is unreachable: {error}") from error
        if reply.status_code != httpx.codes.OK:
            raise errors.rejection(int(reply.status_code), reply.content, reply.headers.get("retry-after"))
        return reply.parsed

    def wait(self, action_uid: str, timeout: float = 300) -> models.Action:
        """Wait for the end of an action, and return it. `timeout` is in seconds. Raises ActionFailed and WaitTimedOut."""
        deadline = time.monotonic() + timeout
        unreachable_until = None
        while (remaining := deadline - time.monotonic()) > 0:
            try:
                action: models.Action = self.call(get_action, action_uid, wait=min(POLL_SECONDS, int(remaining) + 1))
            except errors.ConsoleUnreachable:  # the action continues while a console restarts
                unreachable_until = unreachable_until or time.monotonic() + UNREACHABLE_SECONDS
                if time.monotonic() > unreachable_until:
                    raise
                time.sleep(0.5)
                continue
            unreachable_until = None
            if action.status in ("failed", "cancelled"):
                information = action.additional_info.to_dict()
                reason = information.get("error") or information.get("description")
                raise errors.ActionFailed(f"the action {action_uid} is {action.status}: {reason}")
            if action.status == "completed":
                return action
        raise errors.WaitTimedOut(f"the action {action_uid} did not end within {timeout:g} s; it continues")


def _trust(ca_file: str | Path | None) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=ca_file)
    # A CA that is itself signed by another one is accepted as it is.
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_PARTIAL_CHAIN
    return context


def _body(model: type[_Fields], fields: dict[str, Any]) -> _Fields:
    try:
        return model.from_dict(fields)
    except KeyError as error:
        raise TypeError(f"the field {error.args[0]} is required") from error


_DATABASES = _Kind("databases", "bdbs", models.BdbUpdate, models.BdbCreate)
_NODES = _Kind("nodes", "nodes", models.NodeUpdate)
_USERS = _Kind("users", "users", models.UserChanges, models.NewUser)
_ROLES = _Kind("roles", "roles", models.RoleUpdate, models.NewRole)
_ACLS = _Kind("redis_acls", "redis_acls", models.AclUpdate, models.NewAcl)
_MAPPINGS = _Kind("users", "ldap_mappings", models.MappingChanges, models.NewMapping)
_WEBHOOKS = _Kind("webhooks", "webhooks", models.WebhookUpdate, models.NewWebhook)
