/** Filters of the timeline. Pure. */
import type { LogEvent } from '@/api/types';
import { type EventGroup, groupOf, isOnTimeline } from './eventTypes';

export interface TimelineFilter {
  /** Minimum severity. */
  severity?: 'WARNING' | 'ERROR' | undefined;
  node?: number | undefined;
  bdb?: number | undefined;
  kind?: EventGroup | undefined;
}

const RANK = { DEBUG: 0, INFO: 1, WARNING: 2, ERROR: 3, CRITICAL: 4 } as const;

export function filterTimelineEvents(
  events: readonly LogEvent[],
  filter: TimelineFilter,
  nodeOfShard: (shard: string) => number | undefined,
): LogEvent[] {
  const { severity, node, bdb, kind } = filter;
  return events.filter((event) => {
    if (!isOnTimeline(event)) return false;
    if (severity && RANK[event.severity] < RANK[severity]) return false;
    if (kind && groupOf(event) !== kind) return false;
    // Events of nodes are shown for every database, because they affect the databases on the node.
    if (bdb !== undefined && event.bdb_uid !== bdb && event.source !== 'node') return false;
    if (node === undefined || event.node_uid === node) return true;
    return event.shard_uid !== undefined && nodeOfShard(String(event.shard_uid)) === node;
  });
}
