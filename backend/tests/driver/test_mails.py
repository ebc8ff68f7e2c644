"""Tests of sending email to a real SMTP server, including delivery failures."""

import socket
import socketserver
import threading
from collections.abc import Iterator
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

    def handle(self) -> None:
        self.send_line("220 ready")
        while line := self.rfile.readline().decode().strip():
            match line.upper().split()[0]:
                case "EHLO":
                    self.send_line("250-mail.example.org\r\n250 AUTH PLAIN")
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

    def send_line(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


@pytest.fixture
def port() -> Iterator[int]:
    Handler.received.clear()
    Handler.logins.clear()
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
    with pytest.raises(DeliveryFailed, match="rejected the user name or password"):
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
