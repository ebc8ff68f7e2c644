"""Find replies of the engine that contain line breaks of a request outside of a value.

`python engine/testkit/conformance/reply_injection.py` starts the `valkey-server` of the PATH in cluster mode, fills every argument of
every command of `COMMAND DOCS` with line breaks and a forged reply, and prints the commands with more than one reply. A random
text after each request marks where the reply must end. Run it for each new version of the engine:

    reply_injection.py            print the commands that leak line breaks
    reply_injection.py --update   write them to reply_injection.json, under the major and minor version of the engine
    reply_injection.py --check    exit with status 1 if the result differs from the file

The proxy trusts the replies of the commands in this file; see engine/proxy/src/reply_safety.rs."""

import json
import secrets
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
sys.path.insert(0, str(Path(__file__).resolve().parent))

from lab import Lab, command
from speaker import Speaker

from shardboard.local.loopback import claim_network

RESULT = Path(__file__).with_name("reply_injection.json")
PORT = 21980
# Two line breaks, because one may be cut off with the end of a quotation.
PAYLOAD = b"x\r\n+INJECTED\r\n$3\r\n{t}\r\ny"
# Quoted, for texts that the engine splits like a line of its configuration.
QUOTED = b'"' + PAYLOAD.replace(b"\r\n", b"\\r\\n") + b'"'
TYPES = {
    b"string": [b"SET", PAYLOAD],
    b"list": [b"RPUSH", PAYLOAD],
    b"hash": [b"HSET", PAYLOAD, PAYLOAD],
    b"set": [b"SADD", PAYLOAD],
    b"zset": [b"ZADD", b"1", PAYLOAD],
    b"stream": [b"XADD", b"*", PAYLOAD, PAYLOAD],
}
# Commands that stop, suspend or reconfigure the server, or turn the connection into a stream. They never reach a shard on a
# shared connection: the proxy refuses them, answers them itself, or uses a dedicated connection.
LEFT_OUT = {
    *[
        "debug",
        "failover",
        "migrate",
        "module",
        "monitor",
        "psync",
        "replconf",
        "replicaof",
        "shutdown",
        "slaveof",
        "sync",
    ],
    *["client|kill", "client|pause", "client|reply", "client|unblock", "cluster|addslots", "cluster|addslotsrange"],
    *["cluster|bumpepoch", "cluster|delslots", "cluster|delslotsrange", "cluster|failover", "cluster|flushslots"],
    *["cluster|forget", "cluster|meet", "cluster|replicate", "cluster|reset", "cluster|set-config-epoch"],
    *["cluster|setslot", "config|rewrite", "save", "bgsave", "bgrewriteaof", "script|debug", "acl|save", "acl|load"],
    *["cluster|migrateslots", "cluster|cancelslotmigrations", "cluster|syncslots"],
}
# These commands change the state of the connection, so each request uses a new one.
STATEFUL = {
    *["auth", "hello", "multi", "quit", "reset", "select", "watch", "subscribe", "psubscribe", "ssubscribe"],
    *["unsubscribe", "punsubscribe", "sunsubscribe"],
}
BLOCKING = {"blmove", "blmpop", "blpop", "brpop", "brpoplpush", "bzmpop", "bzpopmax", "bzpopmin"}
# Code can quote more texts than arguments can.
SHEBANGS = [b"#!%b\n", b"#!lua flags=%b\n", b"#!lua name=%b\n", b"#!lua name=a %b=1\n", b"#!lua %b\n"]
CODE = [
    b"error(%b)",
    b"error({err=%b})",
    b"return {err=%b}",
    b"return {ok=%b}",
    b"return {1, {err=%b}, {ok=%b}, {big_number=%b}, {map={[%b]={err=%b}}}, {set={[%b]=true}}}",
    b"return {verbatim_string={format=%b, string=%b}}",
    b"return redis.error_reply(%b)",
    b"return redis.status_reply(%b)",
    b"return redis.call(%b)",
    b"return redis.pcall(%b, %b)",
    b"return redis.call('xreadgroup', 'group', %b, 'c', 'streams', '{t}'..%b, '>')",
    b"return redis[%b]",
    b"return _G[%b]",
    b"local a = {} return a[%b] .. 1",
    b"local a = {} return a[%b]()",
    b"redis.register_function(%b, function() end)",
    b"redis.register_function{function_name='a', callback=function() end, flags={%b}}",
    b"redis.register_function{[%b]=1}",
    b"local f, e = loadstring('x x', %b) error(e)",
    b"loadstring('error(1)', '@'..%b)()",
    b"return cjson.decode(%b)",
    b"return cmsgpack.unpack(%b)",
    b"return struct.unpack(%b, 'x')",
    b"local a = %b = 1",
    b"goto %b",
]


class Connection:
    """A client that receives raw bytes."""

    def __init__(self, address: str, resp3: bool) -> None:
        self.stream = socket.create_connection((address, PORT), timeout=0.5)
        self.input = b""
        if resp3:
            self.replies([b"HELLO", b"3"])

    def replies(self, request: list[bytes]) -> bytes | None:
        """Return all data sent in reply to the request, or None if the connection was closed or nothing was received."""
        mark = secrets.token_hex(8).encode()
        self.stream.sendall(command(*request) + command("ECHO", mark))
        end = b"$16\r\n" + mark + b"\r\n"
        try:
            while not self.input.endswith(end):
                data = self.stream.recv(1 << 20)
                if not data:
                    return None
                self.input += data
        except (TimeoutError, ConnectionResetError):
            return None
        replies, self.input = self.input[: -len(end)], b""
        return replies


def value_end(reply: bytes, at: int) -> int:
    """Return the end of the value at `at`. Raise ValueError for a line break within a line or an incomplete value."""
    end = reply.index(b"\r\n", at)
    line, next_index = reply[at:end], end + 2
    if b"\r" in line or b"\n" in line:
        raise ValueError("a line break in a line")
    kind = line[:1]
    if kind in b"$=!":
        size = int(line[1:])
        next_index += size + 2 if size >= 0 else 0
        if next_index > len(reply) or reply[next_index - 2 : next_index] != b"\r\n":
            raise ValueError("an incomplete value")
    elif kind in b"*~>%|":
        count = max(0, int(line[1:])) * (2 if kind in b"%|" else 1) + (kind == b"|")
        for _ in range(count):
            next_index = value_end(reply, next_index)
    elif kind not in b"+-:_,#(":
        raise ValueError("not a reply")
    return next_index


def is_single(reply: bytes) -> bool:
    """Whether this is one reply, apart from push messages."""
    position = 0
    try:
        while position < len(reply):
            is_push = reply[position : position + 1] == b">"
            position = value_end(reply, position)
            if not is_push and position < len(reply):
                return reply[position : position + 1] == b">" and is_single(reply[position:])
    except (ValueError, IndexError):
        return False
    return True


def tokens(arguments: list[Any]) -> Iterator[bytes]:
    """Generate all tokens in the documentation of a command."""
    for argument in arguments:
        if "token" in argument:
            yield argument["token"].encode()
        yield from tokens(argument.get("arguments", []))


def requests(name: str, arity: int, words: list[bytes], number: bytes) -> Iterator[list[bytes]]:
    """Generate the command with the payload at every position, with valid and invalid other arguments."""
    start = [part.encode() for part in name.split("|")]
    minimum = max(0, abs(arity) - len(start))
    if "|" not in name:
        yield [PAYLOAD, *start]
    for extra in (0, 1, 2):
        count = minimum + extra
        for filler in (b"{t}none", number, *(b"{t}" + kind for kind in TYPES)):
            for index in range(count):
                arguments = [filler] + [number] * (count - 1)
                for payload in (PAYLOAD, b"{t}" + PAYLOAD, QUOTED):
                    arguments[index] = payload
                    yield [*start, *arguments]
        yield [*start, *[PAYLOAD] * count]
    for word in words:
        for kind in (b"none", b"string", b"stream"):
            base = [b"{t}" + kind, *[number] * (minimum - 1)] if minimum else []
            for case_arguments in (
                [PAYLOAD],
                [PAYLOAD, PAYLOAD],
                [number, PAYLOAD],
                [b"{t}" + PAYLOAD, PAYLOAD, b"{t}stream", b">"],
            ):
                yield [*start, *base, word, *case_arguments]
                yield [*start, word, *case_arguments]


def scripts() -> Iterator[list[bytes]]:
    """Generate every command that takes code, with code that fails."""
    literal = b"'" + PAYLOAD.replace(b"\r\n", b"\\r\\n") + b"'"
    code = [text.replace(b"%b", literal) for text in CODE]
    code += [text.replace(b"%b", PAYLOAD) for text in CODE]
    code += [text.replace(b"%b", payload) + b"return 1" for text in SHEBANGS for payload in (PAYLOAD, QUOTED)]
    for text in code:
        yield from ([b"EVAL", text, b"1", b"{t}k"], [b"EVAL_RO", text, b"1", b"{t}k"], [b"SCRIPT", b"LOAD", text])
        yield [b"FUNCTION", b"LOAD", b"REPLACE", text]
        yield [b"FUNCTION", b"LOAD", b"REPLACE", b"#!lua name=a\n" + text]
        function = b"#!lua name=a\nredis.register_function('a', function() %b end)" % text
        yield [b"FUNCTION", b"LOAD", b"REPLACE", function]
        yield from ([b"FCALL", b"a", b"1", b"{t}k"], [b"FCALL_RO", b"a", b"1", b"{t}k"])


def documented(reader: Any) -> Iterator[tuple[str, int, list[bytes]]]:
    """Generate name, arity and tokens of every command and subcommand."""
    commands = {name: list(tokens(rows)) for name, rows in documented_arguments(reader).items()}
    for name, arity, *_, subcommands in reader.ask("COMMAND"):
        yield name, arity, commands.get(name, [])
        for subcommand, arity_of_it, *_ in subcommands:
            yield subcommand, arity_of_it, commands.get(subcommand, [])


def documented_arguments(reader: Any) -> dict[str, list[Any]]:
    """Return the documented arguments of every command and subcommand (`container|name`)."""
    found: dict[str, list[Any]] = {}
    for name, details in pairs(reader.ask("COMMAND", "DOCS")).items():
        details = pairs(details)
        found[name] = arguments(details.get("arguments", []))
        for subcommand, detail in pairs(details.get("subcommands", [])).items():
            found[subcommand] = arguments(pairs(detail).get("arguments", []))
    return found


def pairs(flat: list[Any]) -> dict[str, Any]:
    """Convert a RESP2 map into a dictionary."""
    return dict(zip(flat[::2], flat[1::2], strict=True))


def arguments(rows: list[Any]) -> list[Any]:
    """Convert the documented arguments into dictionaries, recursively."""
    commands = [pairs(row) for row in rows]
    for row in commands:
        row["arguments"] = arguments(row.get("arguments", []))
    return commands


def sweep(address: str) -> dict[str, Any]:
    """Return the tested commands, and examples of requests and replies for those that leak."""
    commands = sorted(documented(Speaker(address, PORT)))
    tried, leaks = set(), dict[str, list[str]]()
    for resp3 in (True, False):
        connection: Connection | None = None
        for name, arity, words in commands:
            parent = name.split("|")[0]
            # With RESP2, a subscribed connection does not answer ECHO.
            if name in LEFT_OUT or parent in LEFT_OUT or (not resp3 and parent in STATEFUL):
                continue
            # Blocking commands wait only briefly.
            cases = list(requests(name, arity, words, b"0.01" if name in BLOCKING else b"1"))
            if name == "eval":
                cases += scripts()
            tried.add(name)
            for case in cases:
                connection = connection or prepared(address, resp3)
                reply = connection.replies(case)
                if reply is None or parent in STATEFUL:
                    connection.stream.close()
                    connection = None
                if reply is not None and not is_single(reply):
                    container = "|".join(part.decode("latin1").lower() for part in case[:2])
                    container_name = (
                        container if case[0] in (b"SCRIPT", b"FUNCTION") else case[0].decode("latin1").lower()
                    )
                    note(leaks, container_name if name == "eval" else name, case, reply)
    return {"tried": sorted(tried), "leaks": dict(sorted(leaks.items()))}


def prepared(address: str, resp3: bool) -> Connection:
    """Return a connection to a server that has a key of every type."""
    connection = Connection(address, resp3)
    for kind, (write, *values) in TYPES.items():
        connection.replies([b"DEL", b"{t}" + kind])
        connection.replies([write, b"{t}" + kind, *values])
    return connection


def note(leaks: dict[str, list[str]], name: str, case: list[bytes], reply: bytes) -> None:
    """Record one example for each different start of a reply."""
    excerpt = reply.split(b"x\r\n+INJECTED")[0].decode("latin1")[:60]
    examples = leaks.setdefault(name, [])
    if len(examples) < 4 and not any(example.endswith(repr(excerpt)) for example in examples):
        request = b" ".join(case).decode("latin1")
        examples.append(f"{request[:120]!r}: {excerpt!r}")


def main() -> int:
    """Test the engine, print the result, and compare it with or write it to the file."""
    lab = Lab(f"{claim_network()}.2")
    try:
        lab.server(PORT, "--cluster-enabled", "yes", "--cluster-port", str(PORT + 5000), "--enable-debug-command", "no")
        speaker = Speaker(lab.address, PORT)
        speaker.raw("CLUSTER", "ADDSLOTSRANGE", "0", "16383")
        version = next(
            line.split(":")[1].strip()
            for line in speaker.ask("INFO", "server").splitlines()
            if "valkey_version" in line
        )
        leaks = sweep(lab.address)
    finally:
        lab.close()
    release = ".".join(version.split(".")[:2])
    print(f"Valkey {version}: {len(leaks['tried'])} commands, {len(leaks['leaks'])} leak line breaks")
    for name, examples in leaks["leaks"].items():
        print(f"  {name}", *(f"    {example}" for example in examples), sep="\n")
    known_results = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    if "--update" in sys.argv:
        RESULT.write_text(json.dumps({**known_results, release: leaks}, indent=1, sort_keys=True) + "\n")
    elif "--check" in sys.argv and known_results.get(release) != leaks:
        print(f"{RESULT.name} differs for {release}: run with --update and review the difference")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
