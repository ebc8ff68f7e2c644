"""Syslog messages in the format of RFC 5424, with octet counting for TCP and TLS (RFC 6587, RFC 5425)."""

from collections.abc import Mapping
from datetime import UTC, datetime
from urllib.parse import urlsplit

from shardboard.domain import host_names
from shardboard.domain.access import audit
from shardboard.domain.alerting import webhooks
from shardboard.domain.failures.incident_start import LogEvent

AUDIT, DAEMON = 13, 3
"""Facilities: log audit and system daemons."""
SEVERITIES = {"DEBUG": 7, "INFO": 6, "WARNING": 4, "ERROR": 3, "CRITICAL": 2}
ENTERPRISE = 32473
"""The number that RFC 5612 reserves for examples, because the project has no registered number."""
ELEMENT = "shardboard"
PORTS = {"syslog+tls": 6514, "syslog+tcp": 601}
NIL = "-"


def event_message(event: LogEvent, what: webhooks.MessageKind, cluster: str) -> bytes:
    """Return the message of an event. The end of an alarm has the same uid as its start."""
    related = {"bdb": event.bdb_uid, "node": event.node_uid, "shard": event.shard_uid}
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
            **{name: str(uid) for name, uid in related.items() if uid is not None},
        },
        text=webhooks.text(event.description, event.severity, what, cluster),
    )


def audit_line_message(line: audit.Line, link: str, cluster: str) -> bytes:
    """Return the message of one complete line of the audit log."""
    field_names = ("username", "proof", "source", "method", "path", "outcome", "code")
    fields = audit.line_to_json(line)
    request = f"{line.method} {line.path}".strip()
    return message(
        facility=AUDIT,
        severity=audit.severity(line),
        time=line.time,
        host=cluster,
        kind="audit",
        data={"uid": str(line.uid), **{name: str(fields[name]) for name in field_names}, "link": link},
        text=f"{line.username or 'unknown user'} from {line.source}: {request} {line.outcome}. {line.detail}".strip(),
    )


def build_test_message(cluster: str, sender: str, now: datetime) -> bytes:
    """Return a test message."""
    text = webhooks.text(f"This is a test message, sent by {sender}.", "INFO", "test", cluster)
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
    """Return a message. `kind` is its MSGID; `data` are the parameters of its structured data element, in order."""
    header = " ".join(
        (
            f"<{facility * 8 + SEVERITIES[severity]}>1",
            time.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z"),
            _name(host, 255),
            "shardboard",
            NIL,
            _name(kind, 32),
        )
    )
    parameters = "".join(f' {_name(name, 32)}="{_escaped(value)}"' for name, value in data.items())
    # The byte order mark announces UTF-8.
    return f"{header} [{ELEMENT}@{ENTERPRISE}{parameters}] ".encode() + b"\xef\xbb\xbf" + _one_line(text).encode()


def frame(message: bytes) -> bytes:
    """Return a message framed for a stream."""
    return str(len(message)).encode() + b" " + message


def address(url: str) -> tuple[str, int, bool]:
    """Return host, port and whether to use TLS for a valid URL."""
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or PORTS[parts.scheme], parts.scheme == "syslog+tls"


def url_error(url: str) -> str:
    """Return why a URL is not a valid target, as a predicate; empty if it is valid."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        return "is not a URL"
    if len(url) > 300 or not url.isprintable() or " " in url:
        return "must be a URL of at most 300 printable characters without spaces"
    if parts.scheme not in PORTS or not parts.hostname or port == 0:
        return "must start with syslog+tls:// or syslog+tcp:// and contain a host"
    if (
        parts.username is not None
        or parts.password is not None
        or parts.path.strip("/")
        or parts.query
        or parts.fragment
    ):
        return "must contain only a host and a port"
    if error := host_names.host_error(parts.hostname):
        return f"contains the host {parts.hostname[:100]!r}, which {error}"
    return ""


def _name(text: str, max_length: int) -> str:
    """Return the printable ASCII characters that are allowed in a name."""
    printable = "".join(c for c in text if "!" <= c <= "~" and c not in '="]')
    return printable[:max_length] or NIL


def _escaped(value: str) -> str:
    return _one_line(value).replace("\\", "\\\\").replace('"', '\\"').replace("]", "\\]")


def _one_line(text: str) -> str:
    """Replace characters that a receiver could take for the end of a message, or that UTF-8 cannot represent."""
    return "".join(c if c.isprintable() else "?" for c in text)
