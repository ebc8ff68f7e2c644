"""Tests of the RESP client of the agent against a scripted server."""

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import hiredis
import psutil
import pytest
from backend.tests.support.real_shards import execute_as_admin, local_nodes, standalone_shard, start_request, wait_until

from shardboard.agent.databases.engine_client import Connection, EngineError, OwnTraffic, packed

OK = b"+OK\r\n"


class Server:
    """Server that replies to each command with the result of `answer`. None closes the connection."""

    def __init__(self) -> None:
        self.answer: Callable[[list[bytes]], bytes | None] = lambda _: OK
        self.commands: list[list[bytes]] = []
        self.connections = 0
        self.closed = 0
        self.bytes_in = self.bytes_out = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        parser = hiredis.Reader()
        self.connections += 1
        try:
            while data := await reader.read(65536):
                self.bytes_in += len(data)
                parser.feed(data)
                while (command := parser.gets()) is not False:
                    self.commands.append(command)
                    reply = self.answer(command)
                    if reply is None:
                        return
                    self.bytes_out += len(reply)
                    writer.write(reply)
        finally:
            self.closed += 1
            writer.close()


@pytest.fixture
async def server(tmp_path: Path) -> AsyncIterator[Server]:
    server = Server()
    listening = await asyncio.start_unix_server(server.serve, tmp_path / "engine.sock")
    yield server
    listening.close()


async def connect(tmp_path: Path, own: OwnTraffic | None = None) -> Connection:
    return await Connection.open(tmp_path / "engine.sock", "user", "secret", own or OwnTraffic())


async def test_client_authenticates_first(server: Server, tmp_path: Path) -> None:
    connection = await connect(tmp_path)
    assert server.commands == [[b"AUTH", b"user", b"secret"]]
    connection.close()


async def test_rejected_login_leaves_no_connection(server: Server, tmp_path: Path) -> None:
    server.answer = lambda _: b"-WRONGPASS invalid username-password pair\r\n"
    with pytest.raises(EngineError, match="WRONGPASS"):
        await connect(tmp_path)
    await wait_until(lambda: server.closed == 1)


async def test_cancelled_login_leaves_no_connection(server: Server, tmp_path: Path) -> None:
    server.answer = lambda _: b""
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await connect(tmp_path)
    await wait_until(lambda: server.closed == 1)


async def test_missing_server_raises_engine_error(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="cannot connect: No such file or directory"):
        await connect(tmp_path)


async def test_replies_arrive_in_the_order_of_the_commands(server: Server, tmp_path: Path) -> None:
    connection = await connect(tmp_path)
    server.answer = lambda command: b"$%d\r\n%s\r\n" % (len(command[1]), command[1])
    texts = [str(number) * 50 for number in range(500)]
    assert await asyncio.gather(*(connection.execute("ECHO", text) for text in texts)) == texts
    connection.close()


async def test_replies_can_arrive_in_pieces(server: Server, tmp_path: Path) -> None:
    parts: list[bytes] = [b"", b"$5\r\nhel", b"lo\r\n+PO", b"NG\r\n"]
    connection = await connect(tmp_path)
    server.answer = lambda _: parts.pop(0)
    futures = [connection.send(("ECHO", "hello"))]
    for _ in range(3):
        command_count = len(server.commands)
        futures.append(connection.send(("PING",)))
        await wait_until(lambda command_count=command_count: len(server.commands) > command_count)
    assert [await future for future in futures[:2]] == ["hello", "PONG"]
    connection.close()


async def test_error_reply_affects_only_its_command(server: Server, tmp_path: Path) -> None:
    connection = await connect(tmp_path)
    server.answer = lambda command: b"-ERR no\r\n" if command == [b"BAD"] else b":7\r\n"
    good, bad, after = connection.send(("GOOD",)), connection.send(("BAD",)), connection.send(("GOOD",))
    assert (await good, await after) == (7, 7)
    with pytest.raises(EngineError, match="ERR no"):
        await bad
    connection.close()


async def test_cancelled_command_does_not_shift_replies(server: Server, tmp_path: Path) -> None:
    connection = await connect(tmp_path)
    server.answer = lambda command: b"+%s\r\n" % command[0]
    given_up, pending = connection.send(("FIRST",)), connection.send(("SECOND",))
    given_up.cancel()
    assert await pending == "SECOND"
    connection.close()


async def test_closed_connection_fails_all_pending_commands(server: Server, tmp_path: Path) -> None:
    connection = await connect(tmp_path)
    server.answer = lambda command: None if command == [b"THIRD"] else b""
    futures = [connection.send((name,)) for name in ("FIRST", "SECOND", "THIRD")]
    for future in futures:
        with pytest.raises(EngineError, match="the shard closed the connection"):
            await future
    assert connection.closed
    with pytest.raises(EngineError, match="the connection is closed"):
        await connection.execute("PING")


async def test_invalid_protocol_data_closes_the_connection(server: Server, tmp_path: Path) -> None:
    connection = await connect(tmp_path)
    server.answer = lambda _: b"HTTP/1.1 400 Bad Request\r\n"
    with pytest.raises(EngineError):
        await connection.execute("PING")
    assert connection.closed


async def test_reply_that_is_not_utf8_keeps_the_connection_open(server: Server, tmp_path: Path) -> None:
    connection = await connect(tmp_path)
    server.answer = lambda _: b"$3\r\na\xffb\r\n"
    assert await connection.execute("GET", "key") == "a\ufffdb"
    assert not connection.closed
    connection.close()


async def test_all_bytes_and_commands_are_counted(server: Server, tmp_path: Path) -> None:
    traffic = OwnTraffic()
    connection = await connect(tmp_path, traffic)
    await asyncio.gather(*(connection.execute("ping") for _ in range(10)), connection.execute("INFO", "all"))
    assert (traffic.bytes_sent, traffic.bytes_received) == (server.bytes_in, server.bytes_out)
    assert traffic.commands == {"auth": 1, "ping": 10, "info": 1}
    connection.close()


async def test_counts_continue_after_reconnects_and_match_the_engine(tmp_path: Path) -> None:
    async with local_nodes(tmp_path) as node:
        await node[1].start(start_request(standalone_shard(1)))
        shard = node[1].shards[1]
        shard.disconnect()
        await execute_as_admin(shard, "PING")
        info = await execute_as_admin(shard, "INFO", "stats", "commandstats")
        assert f"total_net_input_bytes:{shard.own_traffic.bytes_sent}\r\n" in info
        assert f"cmdstat_auth:calls={shard.own_traffic.commands['auth']}," in info


async def test_ask_and_wait_returns_replies_immediately_or_later(tmp_path: Path) -> None:
    async with local_nodes(tmp_path) as node:
        await node[1].start(start_request(standalone_shard(1)))
        connection = await node[1].shards[1].connect()
        replies: list[object] = []
        for count in range(1, 101):
            connection.send_and_wait(packed("PING"), "ping", replies.append)
            await wait_until(lambda count=count: len(replies) == count)
        assert replies == ["PONG"] * 100
        frozen = psutil.Process(node[1].shards[1].record.pid)
        frozen.suspend()
        try:
            connection.send_and_wait(packed("PING"), "ping", replies.append)
            connection.send_and_wait(packed("ECHO", "later"), "echo", replies.append)
            assert len(replies) == 100
        finally:
            frozen.resume()
        await wait_until(lambda: len(replies) == 102)
        assert replies[100:] == ["PONG", "later"]
