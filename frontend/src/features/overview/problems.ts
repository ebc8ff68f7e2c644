/** Cluster status as text. Pure functions. */
import type { ActiveAlarm } from '@/api/alerting/health';
import { outOfServiceReason } from '@/api/cluster/nodes';
import { isShardDown } from '@/api/databases/shards';
import type { Bdb, Node, Shard } from '@/api/types';
import { plural } from '@/lib/format';
import { formatPreciseDuration } from '@/lib/time';
import type { Tone } from '@/ui/Status';

export interface Problem {
  tone: Extract<Tone, 'attention' | 'broken'>;
  text: string;
  /** Start time in epoch milliseconds, if known. */
  since?: number;
  /** Consequences, as parts of a sentence. */
  consequences?: readonly string[];
  /** Whether all pages show a banner for it. */
  banner: boolean;
  /** Path of the page that shows no banner because it is about this problem. */
  page?: string;
  link:
    | { to: '/activity/timeline' }
    | { to: '/nodes' }
    | { to: '/nodes/$uid'; params: { uid: string } }
    | { to: '/activity/incidents/$uid'; params: { uid: string } }
    | { to: '/databases/$uid/shards'; params: { uid: string } }
    | { to: '/databases/$uid/configuration'; params: { uid: string } };
}

/** An outage of a node or of a single primary. It lasts until the resyncs that follow are complete. */
export interface OngoingOutage {
  /** Uid of the incident. */
  uid: number;
  node: number;
  shard?: string | undefined;
  /** Name of the shard's database. */
  database?: string | undefined;
  /** Start and end of the downtime in epoch milliseconds; `to` is null while it lasts. */
  from: number;
  to: number | null;
  consequences: readonly string[];
}

export const isOutOfSync = (shard: Shard): boolean =>
  shard.role === 'slave' && shard.sync !== undefined && shard.sync.status !== 'idle';

export function findProblems(
  nodes: readonly Node[] = [],
  shards: readonly Shard[] = [],
  bdbs: readonly Bdb[] = [],
  outages: readonly OngoingOutage[] = [],
  alarms: readonly ActiveAlarm[] = [],
): Problem[] {
  // Shards of a database that is being created or deleted are expected not to run.
  const running = new Set(
    bdbs
      .filter((b) => !['pending', 'delete-pending', 'creation-failed'].includes(b.status))
      .map((b) => b.uid),
  );
  const reportedNodes = new Set([
    ...nodes.filter(({ status }) => status === 'down').map(({ uid }) => uid),
    ...outages.filter(({ shard }) => shard === undefined).map(({ node }) => node),
  ]);
  const reportedShards = new Set(outages.map(({ shard }) => shard));
  // The incident describes the shards of these nodes.
  const expected = shards.filter(
    ({ uid, bdb_uid, node_uid }) =>
      running.has(bdb_uid) && !reportedNodes.has(Number(node_uid)) && !reportedShards.has(uid),
  );
  const shardFindings = shardProblems(expected, bdbs);
  const found = [
    ...nodesDown(nodes, outages),
    ...primariesDown(outages),
    ...returning(outages),
    ...lostAgents(nodes),
    ...shardFindings.map(({ problem }) => problem),
    ...alarmProblems(alarms, {
      outages: outages.length > 0,
      bdbs: new Set(shardFindings.map(({ bdb }) => bdb)),
    }),
    ...failedBdbs(bdbs),
    ...withoutTraffic(bdbs),
    ...outOfService(nodes),
  ];
  return [
    ...found.filter(({ tone }) => tone === 'broken'),
    ...found.filter(({ tone }) => tone === 'attention'),
  ];
}

/** Omits alarms about missing replicas if an outage or a shard that is down already explains them. */
function alarmProblems(
  alarms: readonly ActiveAlarm[],
  reported: { outages: boolean; bdbs: ReadonlySet<number> },
): Problem[] {
  return busyNodesTogether(alarms)
    .filter(
      ({ type, bdb }) =>
        type !== 'alarm_no_replica' ||
        !(reported.outages || (bdb !== undefined && reported.bdbs.has(bdb))),
    )
    .map(({ type, text, severity, since, bdb, node }) => {
      const broken = severity === 'ERROR' || severity === 'CRITICAL';
      return {
        tone: broken ? 'broken' : 'attention',
        text,
        since,
        // While a node is down, its outage already reports slots that wait for a promotion.
        banner: broken && !(reported.outages && type === 'alarm_slots_uncovered'),
        link:
          bdb !== undefined
            ? { to: '/databases/$uid/shards', params: { uid: String(bdb) } }
            : node !== undefined
              ? { to: '/nodes/$uid', params: { uid: String(node) } }
              : { to: type === 'alarm_node_cpu_utilization' ? '/nodes' : '/activity/timeline' },
      };
    });
}

/** Replace the alarms about the CPU of several nodes by one. */
function busyNodesTogether(alarms: readonly ActiveAlarm[]): readonly ActiveAlarm[] {
  const busy = alarms.filter(({ type }) => type === 'alarm_node_cpu_utilization');
  const [first] = busy;
  if (!first || busy.length === 1) return alarms;
  const uids = busy.map(({ node }) => String(node)).sort();
  const nodes = `nodes ${uids.slice(0, -1).join(', ')} and ${uids.at(-1)}`;
  const together = {
    ...first,
    text: first.text.replace(`node ${first.node}`, nodes),
    since: Math.min(...busy.map(({ since }) => since)),
    node: undefined,
  };
  return [...alarms.filter((alarm) => !busy.includes(alarm)), together];
}

function nodesDown(nodes: readonly Node[], outages: readonly OngoingOutage[]): Problem[] {
  return nodes
    .filter(({ status }) => status === 'down')
    .map((node) => {
      const outage = outages.find(
        ({ node: uid, shard, to }) => uid === node.uid && shard === undefined && to === null,
      );
      const since = outage?.from ?? Date.parse(node.unavailable_since ?? '');
      return {
        tone: 'broken',
        text: Number.isNaN(since) ? `Node ${node.uid} is down` : `Node ${node.uid} has been down`,
        ...(Number.isNaN(since) ? {} : { since }),
        banner: true,
        ...(outage
          ? { consequences: outage.consequences, ...incidentLink(outage) }
          : { link: { to: '/nodes/$uid', params: { uid: String(node.uid) } } }),
      };
    });
}

function primariesDown(outages: readonly OngoingOutage[]): Problem[] {
  return outages
    .filter(({ shard, to }) => shard !== undefined && to === null)
    .map((outage) => ({
      tone: 'broken',
      text: `Primary ${shardOf(outage)} has been down`,
      since: outage.from,
      consequences: outage.consequences,
      banner: true,
      ...incidentLink(outage),
    }));
}

const shardOf = ({ shard, database }: OngoingOutage): string =>
  database === undefined ? `redis:${shard}` : `redis:${shard} of ${database}`;

function returning(outages: readonly OngoingOutage[]): Problem[] {
  return outages.flatMap((outage) => {
    if (outage.to === null) return [];
    const length = formatPreciseDuration((outage.to - outage.from) / 1000);
    return {
      tone: 'attention',
      text: `${outage.shard === undefined ? `Node ${outage.node}` : `Shard ${shardOf(outage)}`} is back after ${length}`,
      consequences: outage.consequences,
      banner: true,
      ...incidentLink(outage),
    };
  });
}

function incidentLink({ uid }: OngoingOutage): Pick<Problem, 'link' | 'page'> {
  return {
    link: { to: '/activity/incidents/$uid', params: { uid: String(uid) } },
    page: `/activity/incidents/${uid}`,
  };
}

/** A lost agent does not mean that the shards of its node are down, so they are not mentioned. */
function lostAgents(nodes: readonly Node[]): Problem[] {
  return nodes
    .filter((node) => node.status !== 'down' && node.agent_status === 'lost')
    .map((node) => {
      const since = Date.parse(node.unavailable_since ?? '');
      return {
        tone: 'attention',
        text: `The agent of node ${node.uid} has not responded`,
        ...(Number.isNaN(since) ? {} : { since }),
        banner: true,
        link: { to: '/nodes/$uid', params: { uid: String(node.uid) } },
      };
    });
}

function shardProblems(
  shards: readonly Shard[],
  bdbs: readonly Bdb[],
): { bdb: number; problem: Problem }[] {
  return bdbs.flatMap((bdb) => {
    const bdbShards = shards.filter((shard) => shard.bdb_uid === bdb.uid);
    const link = { to: '/databases/$uid/shards', params: { uid: String(bdb.uid) } } as const;
    const down = bdbShards.filter(isShardDown).length;
    const outOfSync = bdbShards.filter((shard) => !isShardDown(shard) && isOutOfSync(shard)).length;
    const found: Problem[] = [];
    if (down) {
      const text = `${plural(down, 'shard')} of ${bdb.name} ${down === 1 ? 'is' : 'are'} down`;
      found.push({ tone: 'broken', text, banner: true, link });
    }
    if (outOfSync) {
      const text = `${plural(outOfSync, 'replica')} of ${bdb.name} ${outOfSync === 1 ? 'is' : 'are'} not in sync`;
      found.push({ tone: 'attention', text, banner: false, link });
    }
    return found.map((problem) => ({ bdb: bdb.uid, problem }));
  });
}

function failedBdbs(bdbs: readonly Bdb[]): Problem[] {
  return bdbs
    .filter((bdb) => bdb.status === 'creation-failed')
    .map((bdb) => ({
      tone: 'attention',
      text: `${bdb.name} could not be created`,
      banner: false,
      link: { to: '/databases/$uid/configuration', params: { uid: String(bdb.uid) } },
    }));
}

/** A user requested this state, so it has no banner. The same applies to `outOfService`. */
function withoutTraffic(bdbs: readonly Bdb[]): Problem[] {
  return bdbs
    .filter((bdb) => bdb.traffic_manually_disabled)
    .map((bdb) => ({
      tone: 'attention',
      text: `Traffic to ${bdb.name} is stopped`,
      banner: false,
      link: { to: '/databases/$uid/configuration', params: { uid: String(bdb.uid) } },
    }));
}

function outOfService(nodes: readonly Node[]): Problem[] {
  return nodes.flatMap((node) => {
    const reason = outOfServiceReason(node);
    if (!reason) return [];
    return {
      tone: 'attention',
      text: `Node ${node.uid} is ${reason.toLowerCase()}`,
      banner: false,
      link: { to: '/nodes/$uid', params: { uid: String(node.uid) } },
    };
  });
}

export function healthyText(nodes: readonly Node[], shards: readonly Shard[]): string {
  if (!nodes.length) return 'No node has joined yet';
  const all = nodes.length === 1 ? 'The node' : `All ${plural(nodes.length, 'node')}`;
  if (!shards.length) return nodes.length === 1 ? `${all} is healthy` : `${all} are healthy`;
  return `${all} and ${plural(shards.length, 'shard')} are healthy`;
}
