/** Outages that are not over yet, each with its story. */
import { useMemo } from 'react';
import { useStory } from '@/live/useStory';
import { useNow } from '@/ui/Ago';
import { beginOf, type Incident, ongoing } from './incident';

/** Seconds. Whatever is still open has begun within, or reaches into it. */
const LOOKBACK = 3_600;

export function useOngoing(): Incident[] {
  const now = useNow();
  // The stream tells of everything newer.
  const edge = Math.ceil(now / 300_000) * 300;
  const recent = useStory(edge - LOOKBACK, edge);
  // A node that has been down for hours failed over hours ago.
  const events = useStory(beginOf(recent ?? [], edge - LOOKBACK), edge);
  return useMemo(() => ongoing(events ?? [], now), [events, now]);
}
