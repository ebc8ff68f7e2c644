/** CSV export of events. Pure. */
import { endOf, startOf } from '@/api/failures/eventSpans';
import type { LogEvent } from '@/api/types';
import { csvCell } from '@/lib/csv';

const COLUMNS = [
  'uid',
  'time',
  'ended',
  'seconds',
  'type',
  'severity',
  'node_uid',
  'bdb_uid',
  'shard_uid',
  'action_uid',
  'originator',
  'description',
] as const;

export function toCsv(events: readonly LogEvent[]): string {
  return [COLUMNS.join(','), ...events.map((event) => row(event).map(csvCell).join(','))].join(
    '\n',
  );
}

function row(event: LogEvent): unknown[] {
  const from = startOf(event);
  const to = endOf(event);
  const values: Record<string, unknown> = {
    ...event,
    time: new Date(from).toISOString(),
    ended: to === null ? '' : new Date(to).toISOString(),
    seconds: to === null ? '' : (to - from) / 1000,
  };
  return COLUMNS.map((name) => values[name] ?? '');
}
