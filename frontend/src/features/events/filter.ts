/** Event filter with the rules of the console, for events that arrive by the stream. Pure. */
import type { EventFilter } from '@/api/alerting/events';
import type { LogEvent } from '@/api/types';

export const SEVERITIES = ['INFO', 'WARNING', 'ERROR', 'CRITICAL'] as const;
export const SOURCES = ['cluster', 'node', 'bdb', 'shard'] as const;

export const SOURCE_LABELS: Record<string, string> = {
  cluster: 'Cluster',
  node: 'Node',
  bdb: 'Database',
  shard: 'Shard',
};

export const eventText = (event: LogEvent): string =>
  event.description || event.type.replaceAll('_', ' ');

/**
 * Whether an event appears only in the event log. Frequent routine events would displace others
 * from the latest events.
 */
export const isRoutine = (event: LogEvent): boolean =>
  event.type === 'login' || event.type === 'join_token_created';

export function filterEvents(events: readonly LogEvent[], filter: EventFilter): LogEvent[] {
  const text = (filter.text ?? '').toLowerCase();
  return events.filter((event) => {
    if (filter.stime && event.time_ms < Date.parse(filter.stime)) return false;
    if (filter.etime && event.time_ms >= Date.parse(filter.etime)) return false;
    if (filter.severity && event.severity !== filter.severity) return false;
    if (filter.source && event.source !== filter.source) return false;
    if (filter.bdb_uid !== undefined && event.bdb_uid !== filter.bdb_uid) return false;
    return event.description.toLowerCase().includes(text);
  });
}
