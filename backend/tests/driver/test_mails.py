"""Mail to a server that speaks SMTP on a real socket, and every way in which it does not arrive."""

import socket
import socketserver
import threading
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path
from typing import ClassVar

import pytest

from shardboard.domain.mails import MailServer
from shardboard.driver import mails
from shardboard.driver.mails import SmtpMails
from shardboard.driver.ports import HookFailed


class Handler(socketserver.StreamRequestHandler):
    """As much of RFC 5321 as a client needs; recipients named `nobody` are refused, the password is `correct-horse`."""

    got: ClassVar[list[str]] = []
    logins: ClassVar[list[str]] = []

    def handle(self) -> None:
        self.say("220 ready")
        while line := self.rfile.readline().decode().strip():
            match line.upper().split()[0]:
                case "EHLO":
                    self.say("250-mail.example.org\r\n250 AUTH PLAIN")
                case "AUTH":
                    self.logins.append(line)
                    # \0us\0correct-horse
                    self.say("235 welcome" if line.endswith("AHVzAGNvcnJlY3QtaG9yc2U=") else "535 who are you?")
                case "RCPT" if "nobody" in line:
                    self.say("550 no such user")
                case "DATA":
                    self.say("354 go on")
                    self.got.append("".join(iter(lambda: self.rfile.readline().decode(), ".\r\n")))
                    self.say("250 queued")
                case "QUIT":
                    self.say("221 bye")
                    return
                case _:
                    self.say("250 ok")

    def say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


@pytest.fixture
def port() -> Iterator[int]:
    Handler.got.clear()
    Handler.logins.clear()
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


def mail(to: str = "ann@example.org") -> EmailMessage:
    made = EmailMessage()
    made["Subject"], made["From"], made["To"] = "It happened", "shardboard@prod", to
    made.set_content("It happened.\n")
    return made


def server(port: int, **more: str) -> MailServer:
    return MailServer(
        **{"host": "127.0.0.1", "port": port, "tls_mode": "none", "username": "", "sender": "x@y", **more}
    )


async def test_it_arrives(port: int) -> None:
    await SmtpMails().send(server(port), mail())
    [text] = Handler.got
    assert "Subject: It happened" in text
    assert Handler.logins == []


async def test_with_a_user(port: int, tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("correct-horse\n")
    await SmtpMails(file).send(server(port, username="us"), mail())
    assert len(Handler.got) == 1
    file.write_text("wrong")
    with pytest.raises(HookFailed, match="rejected the user name or password"):
        await SmtpMails(file).send(server(port, username="us"), mail())


@pytest.mark.parametrize("file", [None, Path("/nonexistent/password")])
async def test_nobody_told_the_password(port: int, file: Path | None) -> None:
    with pytest.raises(HookFailed, match="password"):
        await SmtpMails(file).send(server(port, username="us"), mail())
    assert Handler.logins == []


async def test_a_password_does_not_leave_the_machine_in_clear() -> None:
    with pytest.raises(HookFailed, match="unencrypted"):
        await SmtpMails(Path("/dev/null")).send(server(25, host="mail.example.org", username="us"), mail())


async def test_nobody_told_of_a_server() -> None:
    with pytest.raises(HookFailed, match="Set smtp_host"):
        await SmtpMails().send(server(25, host=""), mail())


async def test_a_recipient_is_refused(port: int) -> None:
    with pytest.raises(HookFailed, match=r"rejected nobody@example\.org"):
        await SmtpMails().send(server(port), mail("nobody@example.org"))


async def test_it_cannot_be_reached() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(HookFailed, match="is unreachable"):
        await SmtpMails().send(server(port), mail())


async def test_it_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mails, "PATIENCE_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(HookFailed, match="did not respond"):
        await SmtpMails().send(server(silent.getsockname()[1]), mail())
