/** Types of drills and descriptions of their effects. */
import type { DrillKind } from './drills';

export interface Drill {
  kind: DrillKind;
  label: string;
  action: string;
  /** Whether the drill applies to one shard of the node. */
  targetsShard: boolean;
  /** Whether the user chooses the duration. Killed processes return when they are restarted. */
  timed: boolean;
  effect: (node: number, seconds: number, shard: string) => string;
}

/** Time within which databases are served again after the loss of a node. The guided tour judges the outage by it. */
export const SERVED_WITHIN_SECONDS = 2;

export const DRILLS: readonly Drill[] = [
  {
    kind: 'reboot',
    label: 'Reboot the node',
    action: 'Reboot node',
    targetsShard: false,
    timed: true,
    effect: (node, seconds) =>
      `All shards of node ${node} are killed and its agent is unavailable for ${seconds} s, as when a machine restarts. Replicas on other nodes are promoted, and the affected slots are served again within ${SERVED_WITHIN_SECONDS} s, unless the machines are overloaded. When the node is back, its shards return as replicas and are resynced.`,
  },
  {
    kind: 'kill',
    label: 'Kill the node',
    action: 'Kill node',
    targetsShard: false,
    timed: false,
    effect: (node) =>
      `All shards of node ${node} and its agent are killed. This requires that systemd restarts the agent; otherwise the drill fails with an error. When the agent is back, the shards return as replicas.`,
  },
  {
    kind: 'freeze',
    label: 'Freeze the node',
    action: 'Freeze node',
    targetsShard: false,
    timed: true,
    effect: (node, seconds) =>
      `All processes of node ${node} are suspended for ${seconds} s without closing connections, as when a machine hangs. This is harder to detect than a crash, so it takes slightly longer until replicas are promoted.`,
  },
  {
    kind: 'cut_off',
    label: 'Isolate the node from the network',
    action: 'Isolate node',
    targetsShard: false,
    timed: true,
    effect: (node, seconds) =>
      `All packets that node ${node} sends are dropped for ${seconds} s, as when a cable is pulled. Clients that can still reach it may continue to write to its primaries until the engine detects the isolation; these writes are lost. The agent needs permission to change routes; otherwise the drill fails with an error.`,
  },
  {
    kind: 'slow_network',
    label: 'Slow down the network of the node',
    action: 'Slow down network',
    targetsShard: false,
    timed: true,
    effect: (node, seconds) =>
      `For ${seconds} s, one in twenty packets that arrive at node ${node} is lost and is retransmitted after at least 0.2 s, as on a congested link. Requests become slow; no failover should occur. The agent needs the program nft and permission to filter packets; otherwise the drill fails with an error.`,
  },
  {
    kind: 'kill_shard',
    label: 'Kill one shard',
    action: 'Kill shard',
    targetsShard: true,
    timed: false,
    effect: (node, _, shard) =>
      `The process of redis:${shard} on node ${node} is killed. If it is a primary, its replica is promoted. The killed shard returns as a replica.`,
  },
  {
    kind: 'freeze_shard',
    label: 'Freeze one shard',
    action: 'Freeze shard',
    targetsShard: true,
    timed: true,
    effect: (node, seconds, shard) =>
      `The process of redis:${shard} on node ${node} is suspended for ${seconds} s. If it is a primary, its replica is promoted.`,
  },
];

export const SECONDS_MIN = 1;
/** The maximum in docs/openapi.json. */
export const SECONDS_MAX = 3_600;

export function drillOf(kind: DrillKind): Drill {
  const found = DRILLS.find((drill) => drill.kind === kind);
  if (!found) throw new Error(`no drill ${kind}`);
  return found;
}
