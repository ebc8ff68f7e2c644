"""Tests of sending email to a real SMTP server, including delivery failures."""

import asyncio
import base64
import socket
import socketserver
import threading
from collections.abc import Iterator
from contextlib import suppress
from email.message import EmailMessage
from pathlib import Path
from typing import ClassVar

import pytest

from shardboard.domain.alerting.mails import MailServer
from shardboard.driver import mails
from shardboard.driver.interfaces import DeliveryFailed
from shardboard.driver.mails import SmtpMails


class Handler(socketserver.StreamRequestHandler):
    """Minimal SMTP server. It rejects recipients named `nobody`, and its password is `correct-horse`."""

    received: ClassVar[list[str]] = []
    logins: ClassVar[list[str]] = []
    methods: ClassVar[str] = "PLAIN"

    def handle(self) -> None:
        try:
            self.converse()
        except OSError:
            self.is_disconnected.set()

    def converse(self) -> None:
        self.send_line("220 ready")
        while line := self.rfile.readline().decode().strip():
            match line.upper().split()[0]:
                case word if word == self.dripping:
                    self.drip()
                    return
                case "EHLO":
                    self.send_line(f"250-mail.example.org\r\n250 AUTH {self.methods}")
                case "AUTH" if line.startswith("AUTH LOGIN"):
                    self.logins.append(line)
                    self.send_line("334 UGFzc3dvcmQ6")
                    self.logins.append(self.rfile.readline().decode().strip())
                    self.send_line("235 welcome")
                case "AUTH":
                    self.logins.append(line)
                    # \0us\0correct-horse
                    self.send_line("235 welcome" if line.endswith("AHVzAGNvcnJlY3QtaG9yc2U=") else "535 who are you?")
                case "RCPT" if "nobody" in line:
                    self.send_line("550 no such user")
                case "DATA":
                    self.send_line("354 continue")
                    self.received.append("".join(iter(lambda: self.rfile.readline().decode(), ".\r\n")))
                    self.send_line("250 queued")
                case "QUIT":
                    self.send_line("221 bye")
                    return
                case _:
                    self.send_line("250 ok")

    dripping: ClassVar[str] = ""
    """Command that is answered with one byte at a time."""
    is_disconnected: ClassVar[threading.Event]

    def drip(self) -> None:
        while not self.is_disconnected.wait(0.02):
            self.wfile.write(b"2")

    def send_line(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


@pytest.fixture
def port() -> Iterator[int]:
    Handler.received.clear()
    Handler.logins.clear()
    Handler.is_disconnected = threading.Event()
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def mail(to: str = "ann@example.org") -> EmailMessage:
    message = EmailMessage()
    message["Subject"], message["From"], message["To"] = "It happened", "shardboard@prod", to
    message.set_content("It happened.\n")
    return message


def server(port: int, **more: str) -> MailServer:
    return MailServer(
        **{"host": "127.0.0.1", "port": port, "tls_mode": "none", "username": "", "sender": "x@y", **more}
    )


async def test_mail_is_delivered(port: int) -> None:
    await SmtpMails().send(server(port), mail())
    [text] = Handler.received
    assert "Subject: It happened" in text
    assert Handler.logins == []


async def test_mail_is_sent_with_authentication(port: int, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("correct-horse\n")
    await SmtpMails(file).send(server(port, username="us"), mail())
    assert len(Handler.received) == 1
    file.write_text("wrong")
    with pytest.raises(DeliveryFailed, match="rejected the username or password"):
        await SmtpMails(file).send(server(port, username="us"), mail())


@pytest.mark.parametrize("file", [None, Path("/nonexistent/password")])
async def test_missing_password_is_reported(port: int, file: Path | None) -> None:
    with pytest.raises(DeliveryFailed, match="password"):
        await SmtpMails(file).send(server(port, username="us"), mail())
    assert Handler.logins == []


async def test_password_is_not_sent_unencrypted_to_other_machines() -> None:
    with pytest.raises(DeliveryFailed, match="unencrypted"):
        await SmtpMails(Path("/dev/null")).send(server(25, host="mail.example.org", username="us"), mail())


async def test_missing_server_setting_is_reported() -> None:
    with pytest.raises(DeliveryFailed, match="Set smtp_host"):
        await SmtpMails().send(server(25, host=""), mail())


async def test_rejected_recipient_is_reported(port: int) -> None:
    with pytest.raises(DeliveryFailed, match=r"rejected nobody@example\.org"):
        await SmtpMails().send(server(port), mail("nobody@example.org"))


async def test_unreachable_server_is_reported() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(DeliveryFailed, match="is unreachable"):
        await SmtpMails().send(server(port), mail())


async def test_server_that_does_not_answer_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mails, "TIMEOUT_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(DeliveryFailed, match="did not respond"):
        await SmtpMails().send(server(silent.getsockname()[1]), mail())


@pytest.mark.parametrize("command", ["EHLO", "RCPT", "DATA"])
async def test_slow_server_ends_with_the_total_timeout(
    port: int, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mails, "TOTAL_SECONDS", 0.5)
    monkeypatch.setattr(Handler, "dripping", command)
    async with asyncio.timeout(8):
        with pytest.raises(DeliveryFailed, match="did not respond"):
            await SmtpMails().send(server(port), mail())
    assert await asyncio.to_thread(Handler.is_disconnected.wait, 8), "the session is closed"


async def test_mail_is_not_repeated_if_only_the_end_of_the_session_is_slow(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mails, "TOTAL_SECONDS", 2)
    monkeypatch.setattr(Handler, "dripping", "QUIT")
    async with asyncio.timeout(8):
        await SmtpMails().send(server(port), mail())
    assert len(Handler.received) == 1


@pytest.mark.parametrize(
    ("methods", "expected"),
    [
        ("PLAIN", ["AUTH PLAIN " + base64.b64encode("\0möller\0Grüße1".encode()).decode()]),
        (
            "LOGIN",
            [
                "AUTH LOGIN " + base64.b64encode("möller".encode()).decode(),
                base64.b64encode("Grüße1".encode()).decode(),
            ],
        ),
    ],
)
async def test_user_and_password_are_sent_as_utf_8(
    port: int, tmp_path: Path, methods: str, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Handler, "methods", methods)
    file = tmp_path / "password"
    file.write_text("Grüße1", encoding="utf-8")
    with suppress(DeliveryFailed):  # the test server accepts only one password
        await SmtpMails(file).send(server(port, username="möller"), mail())
    assert Handler.logins == expected


async def test_password_file_in_another_encoding_is_reported(port: int, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_bytes("Grüße1".encode("latin-1"))
    with pytest.raises(DeliveryFailed, match="not encoded in UTF-8"):
        await SmtpMails(file).send(server(port, username="us"), mail())


@pytest.mark.parametrize("host", ["mail..example.org", "xn--", "a" * 64])
async def test_host_that_cannot_be_queried_is_reported(host: str) -> None:
    with pytest.raises(DeliveryFailed, match="is unreachable"):
        await SmtpMails().send(server(25, host=host), mail())


async def test_recipient_that_the_server_does_not_support_is_reported(port: int) -> None:
    with pytest.raises(DeliveryFailed, match="does not support"):
        await SmtpMails().send(server(port), mail("möller@example.org"))
