/** Events of an interval: stored events, and newer ones from the stream. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { eventsQuery } from '@/api/alerting/events';
import { endOf, isOpen, startOf } from '@/api/failures/eventSpans';
import { chronological, timelineQuery } from '@/api/failures/timeline';
import type { LogEvent } from '@/api/types';

/**
 * Lengths of the requested periods in seconds. Aligned periods avoid a request per second for a
 * moving window.
 */
const PERIODS = [300, 3_600, 86_400];

/** Return the events between two epoch seconds in ascending order; undefined until the first data arrives. */
export function useEventHistory(from: number, to: number): LogEvent[] | undefined {
  const period = PERIODS.find((size) => to - from <= size * 4) ?? 86_400;
  const first = Math.floor(from / period) * period;
  const last = Math.ceil(to / period) * period;
  const stored = useQuery({
    ...timelineQuery(first, last),
    placeholderData: keepPreviousData,
  });
  const latest = useQuery(eventsQuery).data;
  return useMemo(() => {
    if (!stored.data && !latest) return undefined;
    return chronological(stored.data ?? [], latest ?? []).filter((event) => {
      const until = isOpen(event) ? Number.POSITIVE_INFINITY : (endOf(event) ?? startOf(event));
      return startOf(event) <= to * 1000 && until >= from * 1000;
    });
  }, [stored.data, latest, from, to]);
}
