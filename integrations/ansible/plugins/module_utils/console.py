"""HTTP client for `/v1` of Shardboard and Redis Software, and the options that all modules have."""

from __future__ import annotations

import json
import time
import uuid
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from ansible.module_utils.basic import env_fallback
from ansible.module_utils.urls import open_url

POLL_SECONDS = 0.5
REQUEST_SECONDS = 30
BUSY = (409, 503)
"""Statuses of requests that can be repeated later, if the response has the header `Retry-After`."""
THIS_MACHINE = ("localhost", "127.0.0.1", "::1")
"""Hosts to which credentials can be sent without TLS."""


def _variable(name):
    return {"fallback": (env_fallback, [name])}


CONNECTION = {
    "url": {"type": "str", "required": True, **_variable("SHARDBOARD_URL")},
    "token": {"type": "str", "no_log": True, **_variable("SHARDBOARD_TOKEN")},
    "username": {"type": "str", **_variable("SHARDBOARD_USERNAME")},
    "password_of_user": {"type": "str", "no_log": True, **_variable("SHARDBOARD_PASSWORD")},
    "ca_file": {"type": "path", **_variable("SHARDBOARD_CA_FILE")},
    "validate_certs": {"type": "bool", "default": True},
    "wait_timeout": {"type": "int", "default": 300},
}
RULES = {
    "required_one_of": [("token", "username")],
    "mutually_exclusive": [("token", "username")],
    "required_together": [("username", "password_of_user")],
}
"""Rules for `CONNECTION`, as arguments of AnsibleModule."""


class Failed(Exception):
    """A request was rejected, or an action failed. `status` and `code` are those of the response, if there is one."""

    def __init__(self, message, status=None, code=None):
        super().__init__(message)
        self.status = status
        self.code = code


class Unreachable(Failed):
    """The console did not respond."""


class Console:
    """A console. All methods raise Failed."""

    def __init__(self, parameters, warn):
        parts = urlsplit(parameters["url"])
        if parts.scheme != "https" and not (parts.scheme == "http" and parts.hostname in THIS_MACHINE):
            raise Failed(f"{parameters['url']} is not a URL such as https://console.example.org:9443")
        self._url = parameters["url"].rstrip("/")
        self._warn = warn
        self.wait_timeout = parameters["wait_timeout"]
        self._headers = {"Content-Type": "application/json"}
        self._options = {
            "validate_certs": parameters["validate_certs"],
            "ca_path": parameters["ca_file"],
            "timeout": REQUEST_SECONDS,
            "follow_redirects": "none",
            "http_agent": "shardboard-ansible",
        }
        if parameters["token"]:
            self._headers["Authorization"] = f"Bearer {parameters['token']}"
        else:
            self._options.update(
                url_username=parameters["username"],
                url_password=parameters["password_of_user"],
                force_basic_auth=True,
            )

    def get(self, path):
        """Return the object or list at a path."""
        return self.send("GET", path)

    def send(self, method, path, body=None):
        """Send a request, and return the decoded response. A request that can be repeated later is repeated until it succeeds.

        Raises Failed.
        """
        deadline = time.monotonic() + self.wait_timeout
        headers = {**self._headers, **({"Idempotency-Key": str(uuid.uuid4())} if method == "POST" else {})}
        while True:
            try:
                reply = self._send(method, path, body, headers)
            except HTTPError as error:
                pause = error.headers.get("Retry-After", "")
                is_busy = error.code in BUSY and pause.isdigit()
                if not is_busy or time.monotonic() + int(pause) > deadline:
                    raise _rejection(error) from error
                time.sleep(int(pause))
                continue
            except (URLError, OSError, ValueError) as error:
                raise Unreachable(f"the console at {self._url} is unreachable: {error}") from error
            for warning in reply.pop("warnings", []) if isinstance(reply, dict) else []:
                self._warn(warning if isinstance(warning, str) else warning.get("message") or json.dumps(warning))
            return reply

    def _send(self, method, path, body, headers):
        data = None if body is None else json.dumps(body)
        with open_url(self._url + path, method=method, data=data, headers=headers, **self._options) as reply:
            content = reply.read()
        return json.loads(content) if content else {}

    def find(self, path, fields):
        """Return the object whose fields have these values, or None."""
        found = [each for each in self.get(path) if all(each.get(name) == value for name, value in fields.items())]
        if len(found) > 1:
            uids = ", ".join(str(each["uid"]) for each in found)
            raise Failed(f"several objects have {fields}; set uid to one of {uids}")
        return found[0] if found else None

    def wait_for_action(self, action_uid):
        """Wait until an action is completed."""

        def has_ended():
            action = self.get(f"/v1/actions/{action_uid}")
            if action["status"] in ("failed", "cancelled"):
                information = action.get("additional_info") or {}
                reason = information.get("error") or action.get("error") or information.get("description") or ""
                raise Failed(f"the action {action_uid} is {action['status']}: {reason}")
            return action["status"] == "completed"

        self.wait_until(has_ended, f"the action {action_uid} did not end within {self.wait_timeout} s; it continues")

    def wait_until(self, condition, message):
        """Wait until a condition is true, also while the console restarts.

        Raises Failed with the message after `wait_timeout` seconds.
        """
        deadline = time.monotonic() + self.wait_timeout
        while True:
            try:
                if condition():
                    return
            except Unreachable:
                if time.monotonic() > deadline:
                    raise
            if time.monotonic() > deadline:
                raise Failed(message)
            time.sleep(POLL_SECONDS)


def _rejection(error):
    try:
        content = json.loads(error.read())
    except ValueError:
        content = {}
    content = content if isinstance(content, dict) else {}
    description = content.get("description") or f"the console returned status {error.code}"
    return Failed(description, error.code, content.get("error_code"))
