"""Agents without machines, for tests that control time and failures, and for simulations. Implements `interfaces.Agents`."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta

from cryptography import x509

from shardboard.contract import (
    ChangePassword,
    CommandCounts,
    CommandResult,
    CpuPinning,
    Drill,
    FirewallReport,
    LoadLines,
    LoadReports,
    LoadState,
    NodeFacts,
    NodeLogs,
    PeerAccess,
    PinningReport,
    ProbeTarget,
    ProxyReport,
    ProxyState,
    ReadCommands,
    ReadHotSlots,
    RenewCertificates,
    Sample,
    ShardCommand,
    ShardOutcome,
    ShardReport,
    ShardSpec,
    ShardTls,
    SlotCounts,
    StartLoad,
    StartShards,
)
from shardboard.contract.recovery_copies import CopyVersion, RecoveryCopy
from shardboard.domain.access.acl_rules import RESERVED
from shardboard.domain.placement.shard_role import ShardRole
from shardboard.driver.data.fake_transfers import FakeTransfers
from shardboard.driver.interfaces import NodeRef, ServedCertificate
from shardboard.errors import AgentOutdated, AgentRefused, AgentUnreachable
from shardboard.kit.addresses import host_port
from shardboard.pki.tls import serial_of, signing_key_of

FACTS = NodeFacts(
    hostname="fake",
    machine_id="fake",
    architecture="x86_64",
    cores=2,
    os_name="Debian GNU/Linux 12 (bookworm)",
    os_family="debian",
    os_version="12",
    total_memory=8 * 2**30,
    storage_size=100 * 2**30,
    storage_path="/var/lib/shardboard",
    agent_version="0.1.0",
    engine_version="9.1.2",
    uptime=3600,
)


class FakeAgents(FakeTransfers):
    """Shards start immediately and are in sync. `unreachable` and `refuse` cause failures; `calls` records requests."""

    def __init__(self) -> None:
        super().__init__()
        self.running: dict[int, dict[int, ShardSpec]] = defaultdict(dict)
        """Specs by node and shard uid."""
        self.engine_users: dict[int, dict[str, tuple[str, ...]]] = defaultdict(dict)
        """Engine users of applications and their rules, by shard uid."""
        self.certificates: dict[int, ShardTls] = {}
        """TLS certificate of each shard, by uid."""
        self.admin_passwords: dict[int, str] = {}
        """Admin password of each shard where it was changed, by uid."""
        self.valid_until: dict[int, datetime] = {}
        """Expiry of the certificate of each agent, by node. Without an entry it is far in the future."""
        self.cut_off: dict[int, str] = {}
        """Reasons by node."""
        self.serials: dict[int, str] = {}
        """Serial number of the certificate of each agent, by node."""
        self.signing_keys: dict[int, str] = {}
        """ID of the signing key in the certificate of each agent, by node."""
        self.trusted_cas: dict[int, str] = {}
        """CA certificates that each agent was configured to trust, by node."""
        self.bundles: dict[int, str] = {}
        """CA certificates that the load generators of each agent trust."""
        self.requests: dict[int, str] = {}
        """Certificate signing request of each agent, by node."""
        self.accepted_certificates: list[tuple[int, str]] = []
        """Certificates that agents accepted, with their nodes."""
        self.logged: dict[int, NodeLogs] = {}
        """Log output of each node."""
        self.started_at: dict[int, float] = {}
        """Start of the process of each shard, by uid. Without an entry it is 1.0."""
        self.died: dict[int, str] = {}
        self.unreachable: set[int] = set()
        self.refusals: dict[int, str] = {}
        """Error messages by shard uid."""
        self.calls: list[tuple[str, int]] = []
        self.commands: list[tuple[int, tuple[str, ...]]] = []
        self.promoted: set[int] = set()
        self.offsets: dict[int, int] = {}
        """Replication offsets by shard uid."""
        self.unsynced: set[int] = set()
        """Replicas whose link to the primary is down."""
        self.votes_refused: dict[int, int] = {}
        """Number of failovers of a shard that still fail."""
        self.info: dict[tuple[int, str], str] = {}
        """Replies to INFO by shard uid and section, instead of the default ones."""
        self.replies: dict[tuple[int, str], str] = {}
        """Replies to commands by shard uid and text of the command; `-…` is an error."""
        self.saved: dict[int, float] = {}
        """When the data of a shard were written to disk, by uid. Without an entry there is no data on disk."""
        self.restarted: list[tuple[int, bool]] = []
        """Uid, and whether the data were discarded."""
        self.command_counts: dict[int, CommandCounts] = {}
        self.slot_counts: dict[int, SlotCounts] = {}
        """Slot statistics of shards, by uid."""
        self.killed_hung_shards: list[int] = []
        """Shards that were killed because they hung."""
        self.recovery_copies: dict[int, dict[str, RecoveryCopy]] = defaultdict(dict)
        """Copies that each agent keeps, by name."""
        self.drills: list[tuple[int, Drill]] = []
        self.drills_ended: list[tuple[int, str, str]] = []
        """Node, id of the drill, and token of each request to end one."""
        self.proxies: dict[int, ProxyState] = {}
        """The last state sent to the proxy of each node."""
        self.proxy_failures: dict[int, str] = {}
        """Error messages by database."""
        self.drill_refused = ""
        self.peers: dict[int, PeerAccess] = {}
        self.pinning: dict[int, CpuPinning] = {}
        self.pinning_reports: dict[int, PinningReport] = {}
        """Replies to `pin_processes`, if they must not be the default."""
        """The machines that may connect to the shards of each node."""
        self.silent: set[tuple[str, int]] = set()
        """Shards, by address and port, that do not respond to probes."""
        self.loads: dict[str, StartLoad] = {}
        """Started load generators by id; their output is in `load_lines`."""
        self.load_lines: dict[str, list[str]] = defaultdict(list)
        self.ended_loads: set[str] = set()
        self.loads_stopped: set[str] = set()
        self.loads_removed: set[str] = set()
        self.load_refused = ""
        self.load_reported = LoadReports(id="0" * 32)
        self.rare_pulses: dict[int, bool] = {}
        """Whether the latest stream of each node has rare pulses."""
        self._samples: dict[int, asyncio.Queue[Sample | None]] = defaultdict(asyncio.Queue)

    def sample(self, node_uid: int, sample: Sample | None) -> None:
        """Queue a sample for the console; None breaks the stream."""
        self._samples[node_uid].put_nowait(sample)

    def cut_off_reason(self, node_uid: int) -> str:
        return self.cut_off.get(node_uid, "")

    def certificate_expiry(self, node_uid: int) -> datetime | None:
        return self.valid_until.get(node_uid)

    async def read_certificate(self, node: NodeRef) -> ServedCertificate:
        self._record_call("read_certificate", node)
        valid_until = self.valid_until.setdefault(node.uid, datetime.now(UTC) + timedelta(days=80))
        serial = self.serials.get(node.uid, f"{node.uid:x}")
        return ServedCertificate(valid_until, serial, self.signing_keys.get(node.uid, ""))

    async def request_certificate(self, node: NodeRef) -> str:
        self._record_call("request_certificate", node)
        if node.uid not in self.requests:
            raise AgentOutdated(f"the agent of node {node.uid} is of the release before")
        return self.requests[node.uid]

    async def install_certificate(self, node: NodeRef, certificate: str) -> None:
        self._record_call("install_certificate", node)
        if node.uid in self.refusals:
            raise AgentRefused(self.refusals[node.uid])
        self.accepted_certificates.append((node.uid, certificate))
        installed = x509.load_pem_x509_certificate(certificate.encode())
        self.valid_until[node.uid] = installed.not_valid_after_utc
        self.serials[node.uid] = serial_of(certificate)
        self.signing_keys[node.uid] = signing_key_of(installed)

    async def set_trusted_cas(self, node: NodeRef, certificates: str, bundle: str) -> None:
        self._record_call("set_trusted_cas", node)
        if node.uid in self.refusals:
            raise AgentRefused(self.refusals[node.uid])
        self.trusted_cas[node.uid] = certificates
        self.bundles[node.uid] = bundle

    async def facts(self, node: NodeRef) -> NodeFacts:
        self._record_call("facts", node)
        return FACTS

    async def logs(self, node: NodeRef, shards: Mapping[int, str]) -> NodeLogs:
        self._record_call("logs", node)
        logged = self.logged.get(node.uid, NodeLogs())
        return logged.model_copy(update={"shards": {uid: text for uid, text in logged.shards.items() if uid in shards}})

    async def shards(self, node: NodeRef) -> list[ShardReport]:
        self._record_call("shards", node)
        return [
            ShardReport(
                uid=spec.uid,
                bdb_uid=spec.bdb_uid,
                engine_id=spec.engine_id,
                state="died" if spec.uid in self.died else "running",
                pid=1000 + spec.uid,
                started_at=self.started_at.get(spec.uid, 1.0),
                run_id=spec.engine_id,
                detail=self.died.get(spec.uid, ""),
                port=spec.port,
                bus_port=spec.bus_port,
            )
            for spec in self.running[node.uid].values()
        ]

    async def start(self, node: NodeRef, request: StartShards) -> list[ShardOutcome]:
        self._record_call("start", node)
        outcomes = []
        for spec in request.shards:
            reason = self.refusals.get(spec.uid)
            existing = self.running[node.uid].get(spec.uid)
            if existing is not None and existing.engine_id != spec.engine_id:
                reason = f"the agent runs another shard {spec.uid}"
            elif spec.port in {each.port for each in self.running[node.uid].values() if each is not existing}:
                reason = f"port {spec.port} is in use"
            if reason is None:
                self.running[node.uid][spec.uid] = spec
                if request.bdb.tls is not None:
                    self.certificates[spec.uid] = request.bdb.tls
                outcomes.append(ShardOutcome(uid=spec.uid, ok=True))
            else:
                outcomes.append(ShardOutcome(uid=spec.uid, ok=False, code="start_failed", reason=reason))
        return outcomes

    def _has(self, node: NodeRef, uid: int, engine_id: str | None) -> bool:
        """Return whether the shard with this uid on the node, if any, has the engine id."""
        spec = self.running[node.uid].get(uid)
        assert engine_id is not None, f"a request for shard {uid} has no engine id"  # noqa: S101
        return spec is None or spec.engine_id == engine_id

    async def kill_hung(self, node: NodeRef, shards: Mapping[int, str]) -> list[ShardOutcome]:
        self._record_call("kill_hung", node)
        uids = [uid for uid, engine_id in shards.items() if self._has(node, uid, engine_id)]
        self.killed_hung_shards += uids
        return [ShardOutcome(uid=uid, ok=uid not in self.refusals, reason=self.refusals.get(uid, "")) for uid in uids]

    async def restart(self, node: NodeRef, shards: Mapping[int, str], *, discard_data: bool) -> list[ShardOutcome]:
        self._record_call("restart", node)
        outcomes = []
        for uid, engine_id in shards.items():
            if not self._has(node, uid, engine_id):
                outcomes.append(ShardOutcome(uid=uid, ok=False, code="start_failed", reason="its files are gone"))
                continue
            saved_time = self.saved.get(uid) if uid in self.died and not discard_data else None
            if uid in self.died and not discard_data and saved_time is None:
                outcomes.append(ShardOutcome(uid=uid, ok=False, code="no_data", reason="it has nothing on disk"))
                continue
            self.died.pop(uid, None)
            self.restarted.append((uid, discard_data))
            outcomes.append(ShardOutcome(uid=uid, ok=True, saved_at=saved_time))
        return outcomes

    async def remove(self, node: NodeRef, shards: Mapping[int, str], *, dead_only: bool = False) -> list[ShardOutcome]:
        self._record_call("remove", node)
        uids = list(shards)
        present_uids = {uid for uid, engine_id in shards.items() if self._has(node, uid, engine_id)}
        alive = {uid for uid in present_uids if dead_only and uid in self.running[node.uid] and uid not in self.died}
        for uid in present_uids - alive:
            self.running[node.uid].pop(uid, None)
            self.died.pop(uid, None)
            self.promoted.discard(uid)
        return [
            ShardOutcome(uid=uid, ok=False, code="not_removed", reason="it is running")
            if uid in alive
            else ShardOutcome(uid=uid, ok=True)
            for uid in uids
        ]

    async def command(self, node: NodeRef, commands: Sequence[ShardCommand]) -> list[CommandResult]:
        self._record_call("command", node)
        return [self._execute(node, command) for command in commands]

    def _execute(self, node: NodeRef, command: ShardCommand) -> CommandResult:
        spec = self.running[node.uid].get(command.uid)
        if spec is None or spec.uid in self.died or not self._has(node, command.uid, command.engine_id):
            return CommandResult(uid=command.uid, ok=False, reply=f"shard {command.uid} does not run on this node")
        argv = tuple(command.argv)
        self.commands.append((command.uid, argv))
        if argv[:2] == ("CLUSTER", "FAILOVER") or argv == ("REPLICAOF", "NO", "ONE"):
            self._promote(command.uid)
        if (reply := self.replies.get((command.uid, " ".join(argv)))) is not None:
            return CommandResult(uid=command.uid, ok=not reply.startswith("-"), reply=reply.removeprefix("-"))
        return CommandResult(uid=command.uid, ok=True, reply=self._reply(spec, argv))

    def _promote(self, uid: int) -> None:
        if self.votes_refused.get(uid, 0) > 0:
            self.votes_refused[uid] -= 1
        else:
            self.promoted.add(uid)

    def _reply(self, spec: ShardSpec, argv: tuple[str, ...]) -> str:
        if argv[0] == "INFO" and (info_sections := [self.info.get((spec.uid, name)) for name in argv[1:]]) != [
            None
        ] * len(info_sections):
            return "\r\n".join(filter(None, info_sections))
        if argv == ("INFO", "persistence"):
            writes = ("CONFIG", "SET", "appendonly", "yes")
            return f"aof_enabled:{int((spec.uid, writes) in self.commands)}\r\naof_last_bgrewrite_status:ok\r\n"
        if argv[0] == "ACL":
            return self._access(self.engine_users[spec.uid], argv[1:])
        if argv == ("CLUSTER", "INFO"):
            return "cluster_state:ok\r\n"
        if argv == ("CLUSTER", "NODES"):
            specs = [each for shards in self.running.values() for each in shards.values()]
            return "".join(f"{each.engine_id} - {each.role} - 0 0 {each.uid} connected\n" for each in specs)
        if argv == ("INFO", "replication"):
            offset = self.offsets.get(spec.uid, 0)
            if spec.uid in self.promoted or (spec.role == ShardRole.PRIMARY.value and spec.swap_with is None):
                return f"role:master\r\nmaster_repl_offset:{offset}\r\n"
            link = "down" if spec.uid in self.unsynced else "up"
            return f"role:slave\r\nmaster_link_status:{link}\r\nslave_repl_offset:{offset}\r\n"
        return "OK"

    @staticmethod
    def _access(users: dict[str, tuple[str, ...]], argv: tuple[str, ...]) -> str:
        match argv:
            case ("USERS",):
                return repr([*RESERVED, *users])
            case ("SETUSER", name, *rules) if name not in RESERVED:
                users[name] = tuple(rules)
            case ("DELUSER", *names):
                for name in names:
                    del users[name]
        return "OK"

    async def renew_certificates(self, node: NodeRef, request: RenewCertificates) -> list[CommandResult]:
        self._record_call("renew_certificates", node)
        uids = [spec.uid for spec in self.running[node.uid].values() if spec.engine_id in request.engine_ids]
        failures = {uid: self.refusals[uid] for uid in uids if uid in self.refusals}
        self.certificates |= {uid: request.tls for uid in uids if uid not in failures}
        return [CommandResult(uid=uid, ok=uid not in failures, reply=failures.get(uid, "")) for uid in uids]

    async def change_password(self, node: NodeRef, request: ChangePassword) -> list[CommandResult]:
        self._record_call("change_password", node)
        uids = [spec.uid for spec in self.running[node.uid].values() if spec.engine_id in request.engine_ids]
        failures = {uid: self.refusals[uid] for uid in uids if uid in self.refusals}
        self.admin_passwords |= {uid: request.password for uid in uids if uid not in failures}
        return [CommandResult(uid=uid, ok=uid not in failures, reply=failures.get(uid, "")) for uid in uids]

    async def hot_slots(self, node: NodeRef, request: ReadHotSlots) -> list[SlotCounts]:
        self._record_call("hot_slots", node)
        return [
            self.slot_counts.get(uid, SlotCounts(uid=uid, reason=f"shard {uid} does not run on this node"))
            for uid in request.uids
        ]

    async def read_commands(self, node: NodeRef, request: ReadCommands) -> CommandCounts:
        self._record_call("read_commands", node)
        return self.command_counts.get(node.uid, CommandCounts(reason="its proxy does not run"))

    async def probe(self, node: NodeRef, targets: Sequence[ProbeTarget]) -> list[bool]:
        self._record_call("probe", node)
        return [(target.address, target.port) not in self.silent for target in targets]

    async def probe_from_console(self, targets: Sequence[ProbeTarget]) -> list[bool]:
        return [(target.address, target.port) not in self.silent for target in targets]

    async def apply_proxy(self, node: NodeRef, state: ProxyState) -> ProxyReport:
        self._record_call("apply_proxy", node)
        previous = self.proxies[node.uid].databases if node.uid in self.proxies else []
        kept_databases = [database for database in previous if database.served in state.keep]
        self.proxies[node.uid] = state.model_copy(update={"databases": [*state.databases, *kept_databases], "keep": []})
        return self._proxy_report(node)

    async def proxy(self, node: NodeRef) -> ProxyReport:
        self._record_call("proxy", node)
        return self._proxy_report(node)

    def _proxy_report(self, node: NodeRef) -> ProxyReport:
        state = self.proxies.get(node.uid)
        if state is None or not state.databases:
            return ProxyReport(state="absent", serving=[])
        failures = {
            database.uid: self.proxy_failures[database.uid]
            for database in state.databases
            if database.uid in self.proxy_failures
        }
        return ProxyReport(
            state="running",
            pid=500 + node.uid,
            version="0.1.0",
            threads=state.threads,
            failures=failures,
            serving=[database.served for database in state.databases],
        )

    async def set_peers(self, node: NodeRef, access: PeerAccess) -> FirewallReport:
        self._record_call("set_peers", node)
        self.peers[node.uid] = access
        return FirewallReport(state="active" if access.enabled else "off")

    async def pin_processes(self, node: NodeRef, pinning: CpuPinning) -> PinningReport:
        self._record_call("pin_processes", node)
        self.pinning[node.uid] = pinning
        return self.pinning_reports.get(node.uid, PinningReport(state="off" if pinning.mode == "off" else "active"))

    async def keep_copies(
        self, node: NodeRef, copies: Sequence[RecoveryCopy], names: Sequence[str]
    ) -> list[CopyVersion]:
        self._record_call("keep_copies", node)
        held = self.recovery_copies[node.uid]
        for name in held.keys() - set(names):
            del held[name]
        for copy in copies:
            if copy.name not in held or held[copy.name].order < copy.order:
                held[copy.name] = copy
        return await self.list_copies(node)

    async def list_copies(self, node: NodeRef) -> list[CopyVersion]:
        self._record_call("list_copies", node)
        return [copy.version for copy in self.recovery_copies[node.uid].values()]

    async def read_copy(self, node: NodeRef, name: str) -> RecoveryCopy | None:
        self._record_call("read_copy", node)
        return self.recovery_copies[node.uid].get(name)

    async def drill(self, node: NodeRef, drill: Drill) -> str:
        self._record_call("drill", node)
        self.drills.append((node.uid, drill))
        return self.drill_refused

    async def end_drill(self, node: NodeRef, drill_id: str, token: str) -> None:
        self._record_call("end_drill", node)
        self.drills_ended.append((node.uid, drill_id, token))

    async def start_load(self, node: NodeRef, request: StartLoad) -> LoadState:
        self._record_call("start_load", node)
        if self.load_refused:
            return LoadState(id=request.id, state="absent", error=self.load_refused)
        self.loads.setdefault(request.id, request)
        return self._load_state(request.id)

    async def read_load(self, node: NodeRef, load: str, after: int, wait: float) -> LoadLines:
        self._record_call("read_load", node)
        if len(self.load_lines[load]) <= after:
            await asyncio.sleep(0.005)
        return LoadLines(id=load, state=self._load_state(load).state, lines=self.load_lines[load][after:])

    async def stop_load(self, node: NodeRef, load: str) -> LoadState:
        self._record_call("stop_load", node)
        self.loads_stopped.add(load)
        return self._load_state(load)

    async def load_reports(self, node: NodeRef, load: str) -> LoadReports:
        self._record_call("load_reports", node)
        return self.load_reported.model_copy(update={"id": load})

    async def remove_load(self, node: NodeRef, load: str) -> LoadState:
        self._record_call("remove_load", node)
        self.loads_removed.add(load)
        return self._load_state(load)

    def _load_state(self, load: str) -> LoadState:
        if load not in self.loads or load in self.loads_removed:
            return LoadState(id=load, state="absent")
        return LoadState(id=load, state="ended" if load in self.ended_loads else "running")

    async def samples(
        self, node: NodeRef, after: int, boot: str, max_line: Callable[[], int], *, rare_pulses: bool
    ) -> AsyncIterator[Sample | None]:
        self._record_call("samples", node)
        self.rare_pulses[node.uid] = rare_pulses
        while (sample := await self._samples[node.uid].get()) is not None:
            yield sample
        raise AgentUnreachable(f"the agent of node {node.uid} closed the stream")

    async def close(self) -> None:
        self.calls.append(("close", 0))

    def _record_call(self, call: str, node: NodeRef) -> None:
        self.calls.append((call, node.uid))
        if node.uid in self.unreachable:
            raise AgentUnreachable(
                f"the agent of node {node.uid} ({host_port(node.addr, node.port)}) cannot be reached"
            )
