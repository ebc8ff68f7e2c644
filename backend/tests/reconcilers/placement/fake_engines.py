"""Fake agents whose engines track replication, so that tests can move shards without processes."""

from collections.abc import Sequence
from typing import Any

from shardboard.contract import CommandResult, ShardCommand, ShardOutcome, StartShards
from shardboard.driver.fake_agents import FakeAgents
from shardboard.driver.interfaces import NodeRef


class ReplicatingAgents(FakeAgents):
    """Fake agents with replication. `primary_of` maps each replica to the shard that it copies; all other shards are primaries."""

    def __init__(self) -> None:
        super().__init__()
        self.primary_of: dict[int, int] = {}
        self.addresses: dict[int, tuple[str, int]] = {}
        self.forgotten_ids: set[str] = set()
        self.stalled: set[int] = set()
        """Replicas whose initial sync does not progress."""

    def make_primary(self, uid: int) -> None:
        old = self.primary_of.pop(uid, None)
        if old is not None:
            self.primary_of |= {each: uid for each, primary in self.primary_of.items() if primary == old} | {old: uid}

    async def start(self, node: NodeRef, request: StartShards) -> list[ShardOutcome]:
        new_specs = [spec for spec in request.shards if spec.uid not in self.running[node.uid]]
        outcomes = await super().start(node, request)
        by_engine = {spec.engine_id: uid for specs in self.running.values() for uid, spec in specs.items()}
        by_address = {address: uid for uid, address in self.addresses.items()}
        peers = {peer.engine_id: peer.primary_engine_id for peer in request.bdb.peers}
        for spec in new_specs:
            self.addresses[spec.uid] = (node.addr, spec.port)
            primary = peers.get(spec.engine_id)
            if primary is not None:
                self.primary_of[spec.uid] = by_engine[primary]
            elif spec.primary is not None:
                self.primary_of[spec.uid] = by_address[spec.primary]
        return outcomes

    async def remove(self, node: NodeRef, uids: Sequence[int], *, dead_only: bool = False) -> list[ShardOutcome]:
        for uid in uids:
            assert uid not in self.primary_of.values() or uid in self.primary_of, f"{uid} has replicas and is removed"
            self.primary_of.pop(uid, None)
            self.addresses.pop(uid, None)  # another shard may get its port
        return await super().remove(node, uids, dead_only=dead_only)

    def _execute(self, node: NodeRef, command: ShardCommand) -> CommandResult:
        argv = command.argv
        self.addresses.setdefault(command.uid, (node.addr, getattr(self.running[node.uid].get(command.uid), "port", 0)))
        result = super()._execute(node, command)
        if result.ok and argv[:2] == ["CLUSTER", "FAILOVER"]:
            self.make_primary(command.uid)
        elif result.ok and argv[0] == "FAILOVER":
            self.make_primary(
                next(uid for uid, address in self.addresses.items() if address == (argv[2], int(argv[3])))
            )
        elif result.ok and argv[0] == "REPLICAOF" and argv[1] != "NO":
            self.primary_of[command.uid] = next(
                uid for uid, address in self.addresses.items() if address == (argv[1], int(argv[2]))
            )
        elif result.ok and argv[:2] == ["CLUSTER", "FORGET"]:
            self.forgotten_ids.add(argv[2])
        return result

    def _reply(self, spec: Any, argv: tuple[str, ...]) -> str:
        if argv == ("INFO", "replication"):
            if spec.uid not in self.primary_of:
                return "role:master\r\nmaster_repl_offset:0\r\n"
            host, port = self.addresses.get(self.primary_of[spec.uid], ("", 0))
            link = "down" if spec.uid in self.stalled else "up"
            return (
                f"role:slave\r\nmaster_host:{host}\r\nmaster_port:{port}\r\nmaster_link_status:{link}\r\n"
                "slave_repl_offset:0\r\n"
            )
        if argv == ("CLUSTER", "NODES"):
            specs = {uid: each for shards in self.running.values() for uid, each in shards.items()}
            engine_ids = {uid: each.engine_id for uid, each in specs.items()}
            # As in engines, the primary of a replica is "-" if it was removed.
            return "".join(
                f"{each.engine_id} - {'slave' if uid in self.primary_of else 'master'} "
                f"{engine_ids.get(self.primary_of.get(uid, 0), '-')} 0 0 {uid} connected\n"
                for uid, each in specs.items()
            )
        return super()._reply(spec, argv)
