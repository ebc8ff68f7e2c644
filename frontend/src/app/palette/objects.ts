/** Entries of the command palette for databases, nodes, shards, runs, incidents and events. Pure. */
import type { Bdb, Benchmark, Incident, LogEvent, Node, Shard } from '@/api/types';
import { eventText } from '@/features/events/filter';
import { failedComponent, incidentTitle } from '@/features/timeline/incidents/incidentText';
import { formatDateTime, type Zone } from '@/lib/time';
import type { Entry } from './entry';

export const databaseEntries = (bdbs: readonly Bdb[]): Entry[] =>
  bdbs.map((bdb) => ({
    id: `database-${bdb.uid}`,
    kind: 'database',
    name: bdb.name,
    detail: [
      `database ${bdb.uid}`,
      bdb.endpoints?.[0] && `port ${bdb.endpoints[0].port}`,
      ...(bdb.tags ?? []).map(({ key, value }) => `${key}: ${value}`),
    ]
      .filter(Boolean)
      .join(' · '),
    target: { link: { to: '/databases/$uid/metrics', params: { uid: String(bdb.uid) } } },
  }));

export const nodeEntries = (nodes: readonly Node[]): Entry[] =>
  nodes.map((node) => ({
    id: `node-${node.uid}`,
    kind: 'node',
    name: `node ${node.uid}`,
    detail: [node.addr, node.hostname].filter(Boolean).join(' · '),
    target: { link: { to: '/nodes/$uid', params: { uid: String(node.uid) } } },
  }));

export function shardEntries(shards: readonly Shard[], bdbs: readonly Bdb[]): Entry[] {
  const names = new Map(bdbs.map((bdb) => [bdb.uid, bdb.name]));
  return shards.map((shard) => ({
    id: `shard-${shard.uid}`,
    kind: 'shard',
    name: `redis:${shard.uid}`,
    detail: `shard ${shard.uid} · ${names.get(shard.bdb_uid) ?? ''} · node ${shard.node_uid}`,
    perShard: true,
    needsText: true,
    target: {
      link: {
        to: '/databases/$uid/shards',
        params: { uid: String(shard.bdb_uid) },
        search: { shard: shard.uid },
      },
    },
  }));
}

export const runEntries = (runs: readonly Benchmark[], zone: Zone): Entry[] =>
  runs.map((run) => ({
    id: `run-${run.uid}`,
    kind: 'run',
    name: run.name,
    detail: `run ${run.uid} · ${run.bdb_name} · ${formatDateTime(Date.parse(run.created_time), zone)}`,
    keywords: 'benchmark',
    needsText: true,
    target: { link: { to: '/benchmarks/$uid', params: { uid: String(run.uid) } } },
  }));

export const incidentEntries = (incidents: readonly Incident[], now: number, zone: Zone): Entry[] =>
  incidents.map((incident) => ({
    id: `incident-${incident.uid}`,
    kind: 'incident',
    name: incidentTitle(incident, now),
    detail: formatDateTime(incident.began_ms, zone),
    keywords: `incident ${incident.uid} outage ${failedComponent(incident)}`,
    needsText: true,
    target: { link: { to: '/activity/incidents/$uid', params: { uid: String(incident.uid) } } },
  }));

/** Seconds of the timeline before and after an event. */
const AROUND = 150;

/** Return entries for events that contain the text, and a link to all of them. */
export function eventEntries(text: string, events: readonly LogEvent[], zone: Zone): Entry[] {
  if (events.length === 0) return [];
  const found = events.map((event): Entry => {
    const at = Math.floor(event.time_ms / 1000);
    return {
      id: `event-${event.uid}`,
      kind: 'event',
      name: eventText(event),
      detail: formatDateTime(event.time_ms, zone),
      target: {
        link: {
          to: '/activity/timeline',
          search: { from: at - AROUND, to: at + AROUND, res: undefined, event: String(event.uid) },
        },
      },
    };
  });
  const all: Entry = {
    id: 'events',
    kind: 'event',
    name: `All events with “${text}”`,
    detail: '',
    target: { link: { to: '/activity/events', search: { span: 'all', text } } },
  };
  return [...found, all];
}
