"""Mail over SMTP."""

import asyncio
import smtplib
import ssl
from email.message import EmailMessage
from ipaddress import ip_address
from pathlib import Path

from shardboard.domain.mails import MailServer
from shardboard.driver.ports import HookFailed

PATIENCE_SECONDS = 10


class SmtpMails:
    """Certificates are checked against those that the system trusts. The password is in a file, read for each mail."""

    def __init__(self, password_file: Path | None = None) -> None:
        self._password_file = password_file

    async def send(self, server: MailServer, message: EmailMessage) -> None:
        """Raises HookFailed with a sentence."""
        if not server.host:
            raise HookFailed("The cluster has no mail server: set smtp_host (page Settings).")
        if server.username and server.tls_mode == "none" and not _is_here(server.host):
            raise HookFailed("The mail server would get the password in clear: set smtp_tls_mode to starttls or tls.")
        try:
            await asyncio.to_thread(self._send, server, message)
        except smtplib.SMTPAuthenticationError:
            raise HookFailed("The mail server refused user or password.") from None
        except smtplib.SMTPRecipientsRefused as error:
            raise HookFailed(f"The mail server refused {', '.join(error.recipients)}.") from None
        except smtplib.SMTPResponseException as error:
            said = (
                error.smtp_error.decode(errors="replace") if isinstance(error.smtp_error, bytes) else error.smtp_error
            )
            raise HookFailed(f"The mail server answered {error.smtp_code}: {said}.".replace("..", ".")) from None
        except (smtplib.SMTPException, OSError) as error:
            if isinstance(error, TimeoutError) or "timed out" in str(error):  # smtplib says that in words of its own
                raise HookFailed(f"The mail server does not answer within {PATIENCE_SECONDS} s.") from None
            raise HookFailed(f"The mail server cannot be reached: {error}.") from error

    def _send(self, server: MailServer, message: EmailMessage) -> None:
        context = ssl.create_default_context()
        with (
            smtplib.SMTP_SSL(server.host, server.port, timeout=PATIENCE_SECONDS, context=context)
            if server.tls_mode == "tls"
            else smtplib.SMTP(server.host, server.port, timeout=PATIENCE_SECONDS)
        ) as smtp:
            if server.tls_mode == "starttls":
                smtp.starttls(context=context)
            if server.username:
                smtp.login(server.username, self._password())
            smtp.send_message(message)

    def _password(self) -> str:
        if self._password_file is None:
            raise HookFailed(
                "The mail server wants a user, and nobody told the password: set SHARDBOARD_SMTP_PASSWORD_FILE."
            )
        try:
            return self._password_file.read_text().strip()
        except OSError as error:
            raise HookFailed(f"The file of the mail server's password cannot be read: {error.strerror}.") from error


def _is_here(host: str) -> bool:
    """Whether what is sent there stays on this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
