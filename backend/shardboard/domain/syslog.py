"""Messages of syslog: RFC 5424, framed by their length for TCP and TLS (RFC 6587, 5425)."""

from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import urlsplit

from shardboard.domain import audit, webhooks
from shardboard.domain.incident_begins import Told

AUDIT, DAEMON = 13, 3
"""Facilities: log audit, and system daemons."""
SEVERITIES = {"DEBUG": 7, "INFO": 6, "WARNING": 4, "ERROR": 3, "CRITICAL": 2}
ENTERPRISE = 32473
"""The number that RFC 5612 keeps for examples: the project has none of its own."""
ELEMENT = "shardboard"
PORTS = {"syslog+tls": 6514, "syslog+tcp": 601}
NIL = "-"


def of_event(event: Told, what: webhooks.State, cluster: str) -> bytes:
    """One event. What ends an alarm has the uid of its beginning."""
    places = {"bdb": event.bdb_uid, "node": event.node_uid, "shard": event.shard_uid}
    return message(
        facility=DAEMON,
        severity="INFO" if what == "ended" else event.severity,
        time=event.ended_at if what == "ended" and event.ended_at else event.time,
        host=cluster,
        kind=event.type,
        data={
            "uid": str(event.uid),
            "state": what,
            "originator": event.originator,
            **{name: str(uid) for name, uid in places.items() if uid is not None},
        },
        text=webhooks.text(event.description, event.severity, what, cluster),
    )


def of_line(line: audit.Line, link: str, cluster: str) -> bytes:
    """One line of the audit trail, all of it."""
    named = ("username", "proof", "source", "method", "path", "outcome", "code")
    request = f"{line.method} {line.path}".strip()
    return message(
        facility=AUDIT,
        severity=audit.severity(line),
        time=line.time,
        host=cluster,
        kind="audit",
        data={"uid": str(line.uid), **{name: getattr(line, name) for name in named}, "link": link},
        text=f"{line.username or 'somebody'} from {line.source}: {request} {line.outcome}. {line.detail}".strip(),
    )


def trial(cluster: str, by: str, now: datetime) -> bytes:
    """What is sent to try it out."""
    text = webhooks.text(f"This is a test, sent by {by}.", "INFO", "test", cluster)
    return message(facility=DAEMON, severity="INFO", time=now, host=cluster, kind="test", data={}, text=text)


def message(
    *,
    facility: int,
    severity: str,
    time: datetime,
    host: str,
    kind: str,
    data: Mapping[str, str],
    text: str,
) -> bytes:
    """One message. `kind` is its MSGID; `data` are the parameters of its one element of structured data, in their order."""
    head = " ".join(
        (
            f"<{facility * 8 + SEVERITIES[severity]}>1",
            time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
            _name(host, 255),
            "shardboard",
            NIL,
            _name(kind, 32),
        )
    )
    told = "".join(f' {_name(name, 32)}="{_escaped(value)}"' for name, value in data.items())
    # The mark says that what follows is UTF-8.
    return f"{head} [{ELEMENT}@{ENTERPRISE}{told}] ".encode() + b"\xef\xbb\xbf" + _one_line(text).encode()


def frame(message: bytes) -> bytes:
    """As it goes over a stream."""
    return str(len(message)).encode() + b" " + message


def address(url: str) -> tuple[str, int, bool]:
    """Host, port and whether TLS, of a URL that has no fault."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or PORTS[parts.scheme], parts.scheme == "syslog+tls"


def url_fault(url: str) -> str:
    """Why nothing can be sent there; empty when it can."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "is no URL"
    if len(url) > 300 or not url.isprintable() or " " in url:
        return "is a URL of at most 300 printable characters without spaces"
    if parts.scheme not in PORTS or not parts.hostname or port == 0:
        return "begins with syslog+tls:// or syslog+tcp:// and names a host"
    if (
        parts.username is not None
        or parts.password is not None
        or parts.path.strip("/")
        or parts.query
        or parts.fragment
    ):
        return "has nothing but a host and a port"
    return ""


def _name(text: str, most: int) -> str:
    """Printable ASCII without what ends a name."""
    kept = "".join(c for c in text if "!" <= c <= "~" and c not in '="]')
    return kept[:most] or NIL


def _escaped(value: str) -> str:
    return _one_line(value).replace("\\", "\\\\").replace('"', '\\"').replace("]", "\\]")


def _one_line(text: str) -> str:
    """Without what a receiver could take for the end of a message, and what UTF-8 has no place for."""
    return "".join(c if c.isprintable() else "?" for c in text)
