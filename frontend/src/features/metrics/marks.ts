/** Events as lines on charts. */
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { eventsQuery } from '@/api/events';
import type { LogEvent } from '@/api/types';
import type { ChartMark } from '@/ui/chart/types';

const KEPT = 100;
const NOT_ON_CHARTS = new Set([
  'login',
  'login_failed',
  'authentication_err',
  'join_token_created',
]);

export interface Concern {
  bdb?: number;
  node?: number;
}

/** Without a concern: everything that happened. */
export function marksOf(events: readonly LogEvent[], concern: Concern = {}): ChartMark[] {
  return events
    .filter(
      (event) => concern.bdb === undefined || event.bdb_uid === concern.bdb || isNodeEvent(event),
    )
    .filter((event) => concern.node === undefined || event.node_uid === concern.node)
    .slice(0, KEPT)
    .flatMap((event) => {
      const at = Date.parse(event.time);
      if (Number.isNaN(at) || NOT_ON_CHARTS.has(event.type)) return [];
      return [{ at, label: event.description || event.type, tone: toneOf(event) }];
    });
}

/** A node going down concerns every database that may have shards on it. */
function isNodeEvent(event: LogEvent): boolean {
  return event.bdb_uid === undefined && event.node_uid !== undefined && event.severity !== 'INFO';
}

function toneOf(event: LogEvent): ChartMark['tone'] {
  if (event.severity === 'ERROR' || event.severity === 'CRITICAL') return 'error';
  return event.severity === 'WARNING' ? 'warning' : 'info';
}

export function useMarks({ bdb, node }: Concern = {}): readonly ChartMark[] {
  const { data } = useQuery(eventsQuery);
  return useMemo(
    () =>
      marksOf(data ?? [], {
        ...(bdb === undefined ? {} : { bdb }),
        ...(node === undefined ? {} : { node }),
      }),
    [data, bdb, node],
  );
}
