"""Requests at a steady rate, each timed from the moment it was due; one connection per shard and client."""

import binascii
import select
import socket
import time

from lab import SLOTS, command

CLIENTS = 48
RATE = 10_000
SECONDS = 4


def key_of_shard(shard: int, shards: int) -> str:
    """A key whose slot belongs to that shard, when slots are shared evenly in order."""
    number = 0
    while binascii.crc_hqx(b"key:%d" % number, 0) % SLOTS * shards // SLOTS != shard:
        number += 1
    return f"key:{number}"


def paced(address: str, ports: list[int]) -> tuple[float, float]:
    """P50 and P99 in microseconds. `ports[n]` serves the keys of shard n."""
    poll = select.epoll()
    connections, requests, due_at = [], [], {}
    for number in range(CLIENTS):
        shard = number % len(ports)
        connection = socket.create_connection((address, ports[shard]))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connections.append(connection)
        requests.append(command("SET", key_of_shard(shard, len(ports)), "x"))
        poll.register(connection, select.EPOLLIN)
    by_fd = {connection.fileno(): number for number, connection in enumerate(connections)}
    free = list(range(CLIENTS))
    times = []
    started = time.perf_counter()
    sent, total = 0, RATE * SECONDS
    while len(times) < total:
        now = time.perf_counter()
        while sent < total and free and started + sent / RATE <= now:
            number = free.pop()
            due_at[number] = started + sent / RATE
            connections[number].send(requests[number])
            sent += 1
            now = time.perf_counter()
        wait = max(0.0, started + sent / RATE - now) if free and sent < total else 0.01
        for fd, _ in poll.poll(min(wait, 0.001)):
            number = by_fd[fd]
            connections[number].recv(64)
            times.append(time.perf_counter() - due_at[number])
            free.append(number)
    for connection in connections:
        connection.close()
    times.sort()
    return times[len(times) // 2] * 1e6, times[len(times) * 99 // 100] * 1e6
