/** State and addresses of a database as text. */
import type { Bdb } from '@/api/types';
import { plural } from '@/lib/format';
import type { Tone } from '@/ui/Status';

const STATES: Record<string, { tone: Tone; text: string }> = {
  pending: { tone: 'progress', text: 'Creating' },
  active: { tone: 'ok', text: 'Active' },
  'active-change-pending': { tone: 'progress', text: 'Changing' },
  'delete-pending': { tone: 'progress', text: 'Deleting' },
  'import-pending': { tone: 'progress', text: 'Importing' },
  'creation-failed': { tone: 'broken', text: 'Creation failed' },
  recovery: { tone: 'attention', text: 'Recovering' },
};

export interface BdbState {
  tone: Tone;
  text: string;
  title: string;
}

/** Return the state from the database object alone, because the lists of databases and shards are not from the same time. */
export function bdbState(bdb: Bdb): BdbState {
  const { tone, text } = STATES[bdb.status] ?? { tone: 'unknown', text: bdb.status };
  const title = bdb.status_detail ?? '';
  const { shards_in_sync: synced, shards_total: total } = bdb;
  const running = bdb.status === 'pending' || bdb.status === 'active-change-pending';
  if (running && bdb.progress < 100) {
    return { tone, title, text: `${text} ${Math.round(bdb.progress)}%` };
  }
  if (bdb.status === 'active' && bdb.mismatch) return mismatched(bdb);
  if (bdb.status === 'active' && bdb.shards_down) return { title, ...partlyDown(bdb) };
  if (bdb.status === 'active' && synced !== undefined && total !== undefined && synced < total) {
    return { tone: 'attention', title, text: `Active, ${synced} of ${total} shards in sync` };
  }
  if (bdb.status === 'active' && bdb.traffic_manually_disabled)
    return { tone: 'attention', title, text: 'Traffic stopped' };
  if (isIncomplete(bdb))
    return { tone: 'attention', title, text: 'Active, a change is incomplete' };
  return { tone, text, title };
}

/** Whether a change ended before it was applied to all shards. */
export const isIncomplete = (bdb: Bdb): boolean =>
  bdb.status === 'active' && Boolean(bdb.incomplete_changes?.length);

/** The slots of a primary that is down are unavailable. A replica that is down only reduces redundancy. */
function partlyDown({
  shards_down: down,
  primaries_down: lost,
  shards_count: primaries,
}: Bdb): Pick<BdbState, 'tone' | 'text'> {
  if (!lost) return { tone: 'attention', text: `Active, ${plural(down, 'replica')} down` };
  const text = lost >= primaries ? 'Down' : `${lost} of ${primaries} primaries down`;
  return { tone: 'broken', text };
}

/** The shards differ from the store, so its other fields can be outdated. */
function mismatched({ mismatch = '', primaries_down: lost }: Bdb): BdbState {
  const text = lost ? 'Shards missing' : 'Active, differs from the store';
  return { tone: lost ? 'broken' : 'attention', text, title: mismatch };
}

export interface EndpointAddress {
  host: string;
  port: number;
}

export function endpointOf(bdb: Bdb): EndpointAddress | null {
  const endpoint = bdb.endpoints?.[0];
  const port = endpoint?.port || bdb.port;
  const host = endpoint?.addr?.[0] || endpoint?.dns_name;
  return host && port ? { host, port } : null;
}

/** Return the number of primaries, with replicas in parentheses. */
export const shardsText = (bdb: Bdb): string =>
  bdb.replication ? `${bdb.shards_count} (+${bdb.shards_count})` : String(bdb.shards_count);
