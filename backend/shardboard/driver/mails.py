"""Email over SMTP."""

import asyncio
import smtplib
import ssl
from email.message import EmailMessage
from ipaddress import ip_address
from pathlib import Path

from shardboard.domain.alerting.mails import MailServer
from shardboard.driver.interfaces import DeliveryFailed

TIMEOUT_SECONDS = 10


class SmtpMails:
    """Verifies certificates with the CA certificates of the system. The password is read from a file for each message."""

    def __init__(self, password_file: Path | None = None) -> None:
        self._password_file = password_file

    async def send(self, server: MailServer, message: EmailMessage) -> None:
        """Send a message. Raises HookFailed with a message for users."""
        if not server.host:
            raise DeliveryFailed("The cluster has no mail server. Set smtp_host on the Settings page.")
        if server.username and server.tls_mode == "none" and not _is_local(server.host):
            raise DeliveryFailed(
                "The password would be sent to the mail server unencrypted. Set smtp_tls_mode to starttls or tls."
            )
        try:
            await asyncio.to_thread(self._send, server, message)
        except smtplib.SMTPAuthenticationError:
            raise DeliveryFailed("The mail server rejected the user name or password.") from None
        except smtplib.SMTPRecipientsRefused as error:
            raise DeliveryFailed(f"The mail server rejected {', '.join(error.recipients)}.") from None
        except smtplib.SMTPResponseException as error:
            reply = (
                error.smtp_error.decode(errors="replace") if isinstance(error.smtp_error, bytes) else error.smtp_error
            )
            raise DeliveryFailed(f"The mail server replied {error.smtp_code}: {reply}.".replace("..", ".")) from None
        except (smtplib.SMTPException, OSError) as error:
            if isinstance(error, TimeoutError) or "timed out" in str(
                error
            ):  # smtplib reports some timeouts as text only
                raise DeliveryFailed(f"The mail server did not respond within {TIMEOUT_SECONDS} s.") from None
            raise DeliveryFailed(f"The mail server is unreachable: {error}.") from error

    def _send(self, server: MailServer, message: EmailMessage) -> None:
        context = ssl.create_default_context()
        with (
            smtplib.SMTP_SSL(server.host, server.port, timeout=TIMEOUT_SECONDS, context=context)
            if server.tls_mode == "tls"
            else smtplib.SMTP(server.host, server.port, timeout=TIMEOUT_SECONDS)
        ) as smtp:
            if server.tls_mode == "starttls":
                smtp.starttls(context=context)
            if server.username:
                smtp.login(server.username, self._password())
            smtp.send_message(message)

    def _password(self) -> str:
        if self._password_file is None:
            raise DeliveryFailed(
                "The mail server requires a user, but no password is configured. Set SHARDBOARD_SMTP_PASSWORD_FILE."
            )
        try:
            return self._password_file.read_text().strip()
        except OSError as error:
            raise DeliveryFailed(f"The password file of the mail server cannot be read: {error.strerror}.") from error


def _is_local(host: str) -> bool:
    """Return whether traffic to the host stays on this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
