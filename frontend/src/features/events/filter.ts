/** Which events to show. Pure. */
import type { LogEvent } from '@/api/types';

export interface EventFilter {
  severity?: string | undefined;
  source?: string | undefined;
  text?: string | undefined;
}

export const SEVERITIES = ['INFO', 'WARNING', 'ERROR'] as const;
export const SOURCES = ['cluster', 'node', 'bdb', 'shard', 'user'] as const;

export const SOURCE_WORDS: Record<string, string> = {
  cluster: 'Cluster',
  node: 'Node',
  bdb: 'Database',
  shard: 'Shard',
  user: 'User',
};

export const describe = (event: LogEvent): string =>
  event.description || event.type.replaceAll('_', ' ');

export function filterEvents(events: readonly LogEvent[], filter: EventFilter): LogEvent[] {
  const words = (filter.text ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  return events.filter((event) => {
    if (filter.severity && event.severity !== filter.severity) return false;
    if (filter.source && event.source !== filter.source) return false;
    const text = `${describe(event)} ${event.type} ${event.originator ?? ''}`.toLowerCase();
    return words.every((word) => text.includes(word));
  });
}
