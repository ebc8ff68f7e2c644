"""Delivers messages in the format of the receiver: JSON, Alertmanager alerts, mail, or syslog."""

import json
from collections.abc import Sequence
from datetime import datetime
from email.message import EmailMessage
from typing import Any

from shardboard.domain.alerting import alertmanager, mails, syslog, webhooks
from shardboard.domain.alerting.mails import MailServer
from shardboard.driver.interfaces import Hooks, Mails, Syslog
from shardboard.state.access.audit import AuditLine
from shardboard.state.alerting.events import Event
from shardboard.state.alerting.webhooks import Webhook
from shardboard.state.cluster.cluster import Cluster


class DeliveryClient:
    """Delivery to receivers. All methods raise HookFailed."""

    def __init__(self, hooks: Hooks, post: Mails, syslog: Syslog) -> None:
        self._hooks = hooks
        self._post = post
        self._syslog = syslog

    async def send_event(
        self, row: Webhook, event: Event, what: webhooks.MessageKind, cluster: Cluster, now: datetime
    ) -> None:
        delivery = f"{row.uid}-{event.uid}-{what}"
        match row.kind:
            case "alertmanager":
                await self._alerts(row, alertmanager.alerts([event], cluster.name, now), delivery)
            case "email":
                await self._mail(row, mails.event_mail(event, what, cluster.name, delivery), cluster)
            case "syslog":
                await self._syslog.send(row.url, row.ca, [syslog.event_message(event, what, cluster.name)])
            case _:
                await self._json(row.url, row, webhooks.message(event, what, cluster.name), delivery)

    async def resend_active(self, row: Webhook, events: Sequence[Event], cluster: Cluster, now: datetime) -> None:
        """Send active alarms again, because Alertmanager would otherwise treat them as resolved."""
        if row.kind == "alertmanager" and events:
            payload = alertmanager.alerts(events, cluster.name, now)
            await self._alerts(row, payload, f"{row.uid}-again-{int(now.timestamp())}")

    async def send_audit_lines(self, row: Webhook, lines: Sequence[AuditLine], cluster: Cluster) -> None:
        payload = [(line, line.link) for line in lines]
        if row.kind == "syslog":
            await self._syslog.send(
                row.url, row.ca, [syslog.audit_line_message(*each, cluster.name) for each in payload]
            )
        else:
            body = webhooks.audit_message(payload, cluster.name)
            await self._json(row.url, row, body, f"{row.uid}-audit-{lines[0].uid}-{lines[-1].uid}")

    async def send_test(self, row: Webhook, by: str, cluster: Cluster, now: datetime) -> None:
        delivery = f"{row.uid}-test-{int(now.timestamp())}"
        match row.kind:
            case "alertmanager":
                await self._alerts(row, alertmanager.build_test_alerts(cluster.name, by, now), delivery)
            case "email":
                await self._mail(row, mails.build_test_mail(cluster.name, by, delivery, now), cluster)
            case "syslog":
                await self._syslog.send(row.url, row.ca, [syslog.build_test_message(cluster.name, by, now)])
            case _:
                await self._json(row.url, row, webhooks.build_test_payload(cluster.name, by), delivery)

    async def _alerts(self, row: Webhook, payload: list[dict[str, Any]], delivery: str) -> None:
        await self._json(alertmanager.endpoint_url(row.url), row, payload, delivery)

    async def _json(self, url: str, row: Webhook, payload: Any, delivery: str) -> None:
        body = json.dumps(payload, separators=(",", ":")).encode()
        await self._hooks.send(url, body, webhooks.headers(row.secret, body, delivery), row.ca)

    async def _mail(self, row: Webhook, message: EmailMessage, cluster: Cluster) -> None:
        known = cluster.settings
        server = MailServer(
            host=known.smtp_host,
            port=known.smtp_port,
            tls_mode=known.smtp_tls_mode,
            username=known.smtp_username,
            sender=known.email_from or f"shardboard@{cluster.name}",
        )
        message["From"] = server.sender
        message["To"] = ", ".join(mails.recipients(row.url))
        await self._post.send(server, message)
