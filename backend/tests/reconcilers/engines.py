"""Fake agents whose engines know who copies whom, so that movements can be played through without processes."""

from collections.abc import Sequence
from typing import Any

from shardboard.agent.contract import CommandResult, ShardCommand, ShardOutcome, StartShards
from shardboard.driver.fake import FakeAgents
from shardboard.driver.ports import NodeRef


class Engines(FakeAgents):
    """`heads` is who each replica copies; who is not in it leads."""

    def __init__(self) -> None:
        super().__init__()
        self.heads: dict[int, int] = {}
        self.places: dict[int, tuple[str, int]] = {}
        self.forgotten: set[str] = set()
        self.held_back: set[int] = set()
        """Replicas whose copy does not get on."""

    def lead(self, uid: int) -> None:
        old = self.heads.pop(uid, None)
        if old is not None:
            self.heads |= {each: uid for each, head in self.heads.items() if head == old} | {old: uid}

    async def start(self, node: NodeRef, request: StartShards) -> list[ShardOutcome]:
        fresh = [spec for spec in request.shards if spec.uid not in self.running[node.uid]]
        outcomes = await super().start(node, request)
        by_engine = {spec.engine_id: uid for held in self.running.values() for uid, spec in held.items()}
        by_place = {place: uid for uid, place in self.places.items()}
        peers = {peer.engine_id: peer.primary_engine_id for peer in request.bdb.peers}
        for spec in fresh:
            self.places[spec.uid] = (node.addr, spec.port)
            head = peers.get(spec.engine_id)
            if head is not None:
                self.heads[spec.uid] = by_engine[head]
            elif spec.primary is not None:
                self.heads[spec.uid] = by_place[spec.primary]
        return outcomes

    async def remove(self, node: NodeRef, uids: Sequence[int], *, dead_only: bool = False) -> list[ShardOutcome]:
        for uid in uids:
            assert uid not in self.heads.values() or uid in self.heads, f"{uid} leads others and is removed"
            self.heads.pop(uid, None)
            self.places.pop(uid, None)  # its port may be another one's next
        return await super().remove(node, uids, dead_only=dead_only)

    def _execute(self, node: NodeRef, command: ShardCommand) -> CommandResult:
        argv = command.argv
        self.places.setdefault(command.uid, (node.addr, getattr(self.running[node.uid].get(command.uid), "port", 0)))
        result = super()._execute(node, command)
        if result.ok and argv[:2] == ["CLUSTER", "FAILOVER"]:
            self.lead(command.uid)
        elif result.ok and argv[0] == "FAILOVER":
            self.lead(next(uid for uid, place in self.places.items() if place == (argv[2], int(argv[3]))))
        elif result.ok and argv[0] == "REPLICAOF" and argv[1] != "NO":
            self.heads[command.uid] = next(
                uid for uid, place in self.places.items() if place == (argv[1], int(argv[2]))
            )
        elif result.ok and argv[:2] == ["CLUSTER", "FORGET"]:
            self.forgotten.add(argv[2])
        return result

    def _reply(self, spec: Any, argv: tuple[str, ...]) -> str:
        if argv == ("INFO", "replication"):
            if spec.uid not in self.heads:
                return "role:master\r\nmaster_repl_offset:0\r\n"
            host, port = self.places.get(self.heads[spec.uid], ("", 0))
            link = "down" if spec.uid in self.held_back else "up"
            return (
                f"role:slave\r\nmaster_host:{host}\r\nmaster_port:{port}\r\nmaster_link_status:{link}\r\n"
                "slave_repl_offset:0\r\n"
            )
        if argv == ("CLUSTER", "NODES"):
            held = {uid: each for shards in self.running.values() for uid, each in shards.items()}
            return "".join(
                f"{each.engine_id} - {'slave' if uid in self.heads else 'master'} "
                f"{held[self.heads[uid]].engine_id if uid in self.heads else '-'} 0 0 {uid} connected\n"
                for uid, each in held.items()
            )
        return super()._reply(spec, argv)
