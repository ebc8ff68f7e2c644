/** Search results, best matches first. Pure. */
import type { Bdb, LogEvent, Node, Shard } from '@/api/types';
import { eventText } from '@/features/events/filter';
import { formatDateTime, type Zone } from '@/lib/time';

export interface Hit {
  id: string;
  kind: 'database' | 'node' | 'shard' | 'event';
  name: string;
  detail: string;
  link: {
    to: string;
    params?: Record<string, string>;
    search?: Record<string, string | number | undefined>;
  };
}

const LIMIT = 30;

export function findHits(
  text: string,
  bdbs: readonly Bdb[],
  nodes: readonly Node[],
  shards: readonly Shard[],
): Hit[] {
  const words = text.toLowerCase().split(/\s+/).filter(Boolean);
  const matches = (hit: Hit) => {
    const haystack = `${hit.name} ${hit.detail}`.toLowerCase();
    return words.every((word) => haystack.includes(word));
  };
  const databases = bdbs.map(
    (bdb): Hit => ({
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
      link: { to: '/databases/$uid/metrics', params: { uid: String(bdb.uid) } },
    }),
  );
  const machines = nodes.map(
    (node): Hit => ({
      id: `node-${node.uid}`,
      kind: 'node',
      name: `node ${node.uid}`,
      detail: [node.addr, node.hostname].filter(Boolean).join(' · '),
      link: { to: '/nodes/$uid', params: { uid: String(node.uid) } },
    }),
  );
  const names = new Map(bdbs.map((bdb) => [bdb.uid, bdb.name]));
  // There can be hundreds of shards, so list them only with a search text.
  const found = words.length ? shards : [];
  const parts = found.map(
    (shard): Hit => ({
      id: `shard-${shard.uid}`,
      kind: 'shard',
      name: `redis:${shard.uid}`,
      detail: `shard ${shard.uid} · ${names.get(shard.bdb_uid) ?? ''} · node ${shard.node_uid}`,
      link: {
        to: '/databases/$uid/shards',
        params: { uid: String(shard.bdb_uid) },
        search: { shard: shard.uid },
      },
    }),
  );
  const typed = words.join(' ');
  return [...databases, ...machines, ...parts]
    .filter(matches)
    .sort((a, b) => rankOf(a, typed) - rankOf(b, typed))
    .slice(0, LIMIT);
}

/** Seconds of the timeline before and after an event. */
const AROUND = 150;

/** Return results for events that contain the text, and a link to all of them. */
export function eventHits(text: string, events: readonly LogEvent[], zone: Zone): Hit[] {
  if (events.length === 0) return [];
  const found = events.map((event): Hit => {
    const at = Math.floor(event.time_ms / 1000);
    return {
      id: `event-${event.uid}`,
      kind: 'event',
      name: eventText(event),
      detail: formatDateTime(event.time_ms, zone),
      link: {
        to: '/timeline',
        search: { from: at - AROUND, to: at + AROUND, res: undefined, event: String(event.uid) },
      },
    };
  });
  const all: Hit = {
    id: 'events',
    kind: 'event',
    name: `All events with “${text}”`,
    detail: '',
    link: { to: '/events', search: { span: 'all', text } },
  };
  return [...found, all];
}

/** Rank a result: exact name, then prefix, then other matches. */
function rankOf({ name }: Hit, typed: string): number {
  const called = name.toLowerCase();
  if (called === typed) return 0;
  return called.startsWith(typed) ? 1 : 2;
}
