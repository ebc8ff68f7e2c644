"""Email over SMTP."""

import asyncio
import base64
import smtplib
import socket
import ssl
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from email.message import EmailMessage
from functools import cache
from ipaddress import ip_address
from pathlib import Path

from shardboard.domain.alerting.mails import MailServer
from shardboard.driver.interfaces import DeliveryFailed

TIMEOUT_SECONDS = 10.0
"""Limit for one operation of a session, such as a read."""
TOTAL_SECONDS = 30.0
"""Limit for a complete session. A server that sends one byte at a time is within the limit of each read."""
MAX_SESSIONS = 4
_READY, _CONTINUE, _AUTHENTICATED = 220, 334, (235, 503)
"""Reply codes of SMTP; 503 means that the session is authenticated already."""


class SmtpMails:
    """Verifies certificates with the CA certificates of the system. The password is read from a file for each message."""

    def __init__(self, password_file: Path | None = None) -> None:
        self._password_file = password_file
        # Not the threads that everything else uses, which mail servers could keep busy.
        self._threads = ThreadPoolExecutor(MAX_SESSIONS, "mail")

    async def send(self, server: MailServer, message: EmailMessage) -> None:
        """Send a message. Raises DeliveryFailed with a message for users."""
        if not server.host:
            raise DeliveryFailed("The cluster has no mail server. Set smtp_host on the Settings page.")
        if server.username and server.tls_mode == "none" and not _is_local(server.host):
            raise DeliveryFailed(
                "The password would be sent to the mail server unencrypted. Set smtp_tls_mode to starttls or tls."
            )
        session = _Session(server, self._password() if server.username else "")
        try:
            async with asyncio.timeout(TOTAL_SECONDS):
                await asyncio.get_running_loop().run_in_executor(self._threads, session.send, message)
        except (smtplib.SMTPException, OSError, UnicodeError) as error:
            if not (isinstance(error, TimeoutError) and session.is_accepted):
                raise DeliveryFailed(_describe_failure(error)) from error
        finally:
            session.abort()

    def _password(self) -> str:
        if self._password_file is None:
            raise DeliveryFailed(
                "The mail server requires a user, but no password is configured. Set SHARDBOARD_SMTP_PASSWORD_FILE."
            )
        try:
            return self._password_file.read_text(encoding="utf-8").strip()
        except UnicodeError:
            raise DeliveryFailed("The password file of the mail server is not encoded in UTF-8.") from None
        except OSError as error:
            raise DeliveryFailed(f"The password file of the mail server cannot be read: {error.strerror}.") from error


def _describe_failure(error: Exception) -> str:
    """Return a message for users."""
    match error:
        case smtplib.SMTPAuthenticationError():
            return "The mail server rejected the username or password."
        case smtplib.SMTPRecipientsRefused():
            return f"The mail server rejected {', '.join(error.recipients)}."
        case smtplib.SMTPResponseException():
            text = error.smtp_error
            reply = text.decode(errors="replace") if isinstance(text, bytes) else text
            return f"The mail server replied {error.smtp_code}: {reply}.".replace("..", ".")
        case smtplib.SMTPNotSupportedError():
            return f"The mail server does not support a feature that this message requires: {error}"
    if isinstance(error, TimeoutError) or "timed out" in str(error):  # smtplib reports some timeouts as text only
        return "The mail server did not respond in time."
    return f"The mail server is unreachable: {error}."


class _Session:
    """One session with a mail server, in a thread. Any other thread can abort it."""

    def __init__(self, server: MailServer, password: str) -> None:
        self._server = server
        self._password = password
        self._lock = threading.Lock()
        self._connection: socket.socket | None = None
        """Duplicate of the socket, which remains valid if the session changes to TLS."""
        self._is_aborted = False
        self.is_accepted = False
        """Whether the server has accepted the message."""

    def send(self, message: EmailMessage) -> None:
        try:
            smtp = self._connect()
            try:
                if self._server.username:
                    _log_in(smtp, self._server.username, self._password)
                smtp.send_message(message)
                self.is_accepted = True
                with suppress(smtplib.SMTPException, OSError):
                    smtp.quit()
            finally:
                smtp.close()
        finally:
            with self._lock:
                if self._connection is not None:
                    self._connection.close()
                    self._connection = None

    def abort(self) -> None:
        """End the session if it is running. A pending read then reports the end of the connection."""
        with self._lock:
            self._is_aborted = True
            if self._connection is not None:
                with suppress(OSError):
                    self._connection.shutdown(socket.SHUT_RDWR)

    def _connect(self) -> smtplib.SMTP:
        server, context, name = self._server, ssl.create_default_context(), _own_name()
        sock = socket.create_connection((server.host, server.port), TIMEOUT_SECONDS)
        try:
            with self._lock:
                if self._is_aborted:
                    raise TimeoutError
                self._connection = sock.dup()
            if server.tls_mode == "tls":
                sock = context.wrap_socket(sock, server_hostname=server.host)
            smtp = smtplib.SMTP(local_hostname=name, timeout=TIMEOUT_SECONDS)
            smtp.sock = sock
            smtp._host = server.host  # type: ignore[attr-defined]  # the name that STARTTLS verifies
            code, reply = smtp.getreply()
            if code != _READY:
                raise smtplib.SMTPConnectError(code, reply)
            if server.tls_mode == "starttls":
                smtp.starttls(context=context)
        except BaseException:
            sock.close()
            raise
        return smtp


@cache
def _own_name() -> str:
    """Return the name or address of this machine for EHLO. A slow name server delays only the first mail."""
    name = socket.getfqdn()
    if "." in name:
        return name
    try:
        return f"[{socket.gethostbyname(socket.gethostname())}]"
    except OSError:
        return "[127.0.0.1]"


def _log_in(smtp: smtplib.SMTP, username: str, password: str) -> None:
    """Authenticate. smtplib supports only ASCII; PLAIN uses UTF-8 (RFC 4616), and so do most servers for LOGIN."""
    if (username + password).isascii():
        smtp.login(username, password)
        return
    smtp.ehlo_or_helo_if_needed()
    methods_offered = smtp.esmtp_features.get("auth", "").upper().split()
    if "PLAIN" in methods_offered:
        code, reply = smtp.docmd("AUTH", "PLAIN " + _base64(f"\0{username}\0{password}"))
    elif "LOGIN" in methods_offered:
        code, reply = smtp.docmd("AUTH", f"LOGIN {_base64(username)}")
        if code == _CONTINUE:
            code, reply = smtp.docmd(_base64(password))
    else:
        raise smtplib.SMTPNotSupportedError("a username or password with characters other than ASCII.")
    if code not in _AUTHENTICATED:
        raise smtplib.SMTPAuthenticationError(code, reply)


def _base64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _is_local(host: str) -> bool:
    """Return whether traffic to the host stays on this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
