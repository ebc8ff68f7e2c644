"""Delivers messages in the format of the receiver: JSON, Alertmanager alerts, mail, or syslog."""

import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from email.message import EmailMessage
from functools import wraps
from typing import Any, ParamSpec

from shardboard.domain.alerting import alertmanager, mails, syslog, webhooks
from shardboard.domain.alerting.mails import MailServer
from shardboard.driver.interfaces import DeliveryFailed, Hooks, Mails, Syslog
from shardboard.state.access.audit import AuditLine
from shardboard.state.alerting.events import Event
from shardboard.state.alerting.webhooks import Webhook
from shardboard.state.cluster.cluster import Cluster

log = logging.getLogger(__name__)

P = ParamSpec("P")
MAX_REASON_LENGTH = 500


def _contained(send: Callable[P, Awaitable[None]]) -> Callable[P, Awaitable[None]]:
    """Turn each error of a delivery into DeliveryFailed, so that it only affects its receiver. The reason can contain parts of a
    reply."""

    @wraps(send)
    async def contained(*args: P.args, **kwargs: P.kwargs) -> None:
        try:
            await send(*args, **kwargs)
        except DeliveryFailed as failure:
            reason = "".join(each if each.isprintable() else "?" for each in str(failure))
            raise DeliveryFailed(reason[:MAX_REASON_LENGTH]) from failure
        except Exception as error:
            log.exception("a notification could not be delivered")
            raise DeliveryFailed(f"Internal error: {type(error).__name__}. See the log of the console.") from error

    return contained


class DeliveryClient:
    """Delivery to receivers. All methods raise only DeliveryFailed."""

    def __init__(self, hooks: Hooks, post: Mails, syslog: Syslog) -> None:
        self._hooks = hooks
        self._post = post
        self._syslog = syslog

    @_contained
    async def send_event(self, row: Webhook, event: Event, what: webhooks.MessageKind, cluster: Cluster) -> None:
        """Send one event to a webhook, to mail addresses or to a syslog server. An alarm is sent again if its acknowledgement
        expired."""
        delivery = f"{row.uid}-{event.uid}-{what}"
        if what == "raised" and event.uid in row.raised and event.acknowledgement and event.acknowledgement.until:
            delivery += f"-{int(event.acknowledgement.until.timestamp())}"
        match row.kind:
            case "email":
                await self._mail(
                    row, mails.event_mail(event, what, cluster.name, delivery, cluster.settings.timezone), cluster
                )
            case "syslog":
                await self._syslog.send(row.url, row.ca, [syslog.event_message(event, what, cluster.name)])
            case _:
                await self._json(row.url, row, webhooks.message(event, what, cluster.name), delivery)

    @_contained
    async def send_alerts(self, row: Webhook, events: Sequence[Event], cluster: Cluster, now: datetime) -> None:
        """Send alarms to Alertmanager in one request."""
        payload = alertmanager.alerts(events, cluster.name, now)
        await self._alerts(row, payload, f"{row.uid}-alerts-{int(now.timestamp())}")

    @_contained
    async def send_audit_lines(self, row: Webhook, lines: Sequence[AuditLine], cluster: Cluster) -> None:
        payload = [(line, line.link) for line in lines]
        if row.kind == "syslog":
            await self._syslog.send(
                row.url, row.ca, [syslog.audit_line_message(*each, cluster.name) for each in payload]
            )
        else:
            body = webhooks.audit_message(payload, cluster.name)
            await self._json(row.url, row, body, f"{row.uid}-audit-{lines[0].uid}-{lines[-1].uid}")

    @_contained
    async def send_test(self, row: Webhook, sender: str, cluster: Cluster, now: datetime) -> None:
        delivery = f"{row.uid}-test-{int(now.timestamp())}"
        match row.kind:
            case "alertmanager":
                await self._alerts(row, alertmanager.build_test_alerts(cluster.name, sender, now), delivery)
            case "email":
                await self._mail(row, mails.build_test_mail(cluster.name, sender, delivery, now), cluster)
            case "syslog":
                await self._syslog.send(row.url, row.ca, [syslog.build_test_message(cluster.name, sender, now)])
            case _:
                await self._json(row.url, row, webhooks.build_test_payload(cluster.name, sender), delivery)

    async def _alerts(self, row: Webhook, payload: list[dict[str, Any]], delivery: str) -> None:
        await self._json(alertmanager.endpoint_url(row.url), row, payload, delivery)

    async def _json(self, url: str, row: Webhook, payload: Any, delivery: str) -> None:
        body = json.dumps(payload, separators=(",", ":")).encode()
        await self._hooks.send(url, body, webhooks.headers(row.secret, body, delivery), row.ca)

    async def _mail(self, row: Webhook, message: EmailMessage, cluster: Cluster) -> None:
        settings = cluster.settings
        server = MailServer(
            host=settings.smtp_host,
            port=settings.smtp_port,
            tls_mode=settings.smtp_tls_mode,
            username=settings.smtp_username,
            sender=settings.email_from or f"shardboard@{cluster.name}",
        )
        message["From"] = server.sender
        message["To"] = ", ".join(mails.recipients(row.url))
        await self._post.send(server, message)
