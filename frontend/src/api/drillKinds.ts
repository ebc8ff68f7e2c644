/** The drills there are, and in plain words what each of them does. */
import type { DrillKind } from './drills';

export interface Drill {
  kind: DrillKind;
  label: string;
  action: string;
  /** Needs one shard of the node. */
  ofShard: boolean;
  /** A killed shard comes back when the console has told it how; there is no time to choose. */
  timed: boolean;
  what: (node: number, seconds: number, shard: string) => string;
}

export const DRILLS: readonly Drill[] = [
  {
    kind: 'reboot',
    label: 'Reboot the node',
    action: 'Reboot node',
    ofShard: false,
    timed: true,
    what: (node, seconds) =>
      `All shards of node ${node} are killed and its agent stays away for ${seconds} s, as when a machine restarts. Their replicas on other nodes take over; writes to the lost slots fail for well under two seconds. When the node is back, its shards return as replicas and are filled anew.`,
  },
  {
    kind: 'kill',
    label: 'Kill the node',
    action: 'Kill node',
    ofShard: false,
    timed: false,
    what: (node) =>
      `All shards of node ${node} are killed, and its agent with them. That is possible only where systemd starts the agent again; elsewhere the drill fails and says so. When the agent is back, the shards return as replicas.`,
  },
  {
    kind: 'freeze',
    label: 'Freeze the node',
    action: 'Freeze node',
    ofShard: false,
    timed: true,
    what: (node, seconds) =>
      `All processes of node ${node} stand still for ${seconds} s without closing a connection, as when a machine hangs. That is harder to notice than a crash, so clients wait a little longer until the replicas have taken over.`,
  },
  {
    kind: 'cut_off',
    label: 'Cut the node off the network',
    action: 'Cut node off',
    ofShard: false,
    timed: true,
    what: (node, seconds) =>
      `What node ${node} sends goes nowhere for ${seconds} s, as when a cable is pulled. Clients that still reach it may go on writing to its primaries until the engine notices that it is alone; these writes are lost. The agent needs the right to change routes; elsewhere the drill fails and says so.`,
  },
  {
    kind: 'slow_network',
    label: 'Slow down the network of the node',
    action: 'Slow network down',
    ofShard: false,
    timed: true,
    what: (node, seconds) =>
      `One in twenty packets that arrive at node ${node} is lost for ${seconds} s and sent again a fifth of a second later or more, as on a crowded link. Requests get slow; nothing should fail over. The agent needs the program nft and the right to filter packets; elsewhere the drill fails and says so.`,
  },
  {
    kind: 'kill_shard',
    label: 'Kill one shard',
    action: 'Kill shard',
    ofShard: true,
    timed: false,
    what: (node, _, shard) =>
      `The process of redis:${shard} on node ${node} is killed. If it is a primary, its replica takes over; the killed shard comes back as a replica.`,
  },
  {
    kind: 'freeze_shard',
    label: 'Freeze one shard',
    action: 'Freeze shard',
    ofShard: true,
    timed: true,
    what: (node, seconds, shard) =>
      `The process of redis:${shard} on node ${node} stands still for ${seconds} s. If it is a primary, its replica takes over.`,
  },
];

export const SECONDS_MIN = 1;
export const SECONDS_MAX = 120;

export function drillOf(kind: DrillKind): Drill {
  const found = DRILLS.find((drill) => drill.kind === kind);
  if (!found) throw new Error(`no drill ${kind}`);
  return found;
}
