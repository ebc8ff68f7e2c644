/** The events of an interval: what the console kept, and what the stream has told since. */
import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { eventsQuery } from '@/api/events';
import { endOf, isOpen, startOf } from '@/api/story';
import { chronological, timelineQuery } from '@/api/timeline';
import type { LogEvent } from '@/api/types';

/** Requests ask for whole stretches, so that a sliding window does not ask every second. */
const STRETCHES = [300, 3_600, 86_400];

/** Epoch seconds. Ascending; undefined until something is known. */
export function useStory(from: number, to: number): LogEvent[] | undefined {
  const stretch = STRETCHES.find((size) => to - from <= size * 4) ?? 86_400;
  const first = Math.floor(from / stretch) * stretch;
  const last = Math.ceil(to / stretch) * stretch;
  const kept = useQuery({
    ...timelineQuery(first, last),
    placeholderData: keepPreviousData,
  });
  const latest = useQuery(eventsQuery).data;
  return useMemo(() => {
    if (!kept.data && !latest) return undefined;
    return chronological(kept.data ?? [], latest ?? []).filter((event) => {
      const until = isOpen(event) ? Number.POSITIVE_INFINITY : (endOf(event) ?? startOf(event));
      return startOf(event) <= to * 1000 && until >= from * 1000;
    });
  }, [kept.data, latest, from, to]);
}
