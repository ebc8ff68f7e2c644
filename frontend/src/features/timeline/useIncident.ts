/** One incident by the uid of its `node_failed` event, kept up to date. */
import { useQuery } from '@tanstack/react-query';
import { useMemo } from 'react';
import { eventsQuery } from '@/api/events';
import { endOf, startOf } from '@/api/story';
import { chronological, outagesQuery } from '@/api/timeline';
import { useStory } from '@/live/useStory';
import { useNow } from '@/ui/Ago';
import { type Incident, incidentOf } from './incident';

const BEFORE = 120;
const AFTER = 30 * 60;

export interface Found {
  /** Null: there is none with this uid; undefined: not known yet. */
  incident: Incident | null | undefined;
  now: number;
}

export function useIncident(uid: number): Found {
  const now = useNow();
  const latest = useQuery(eventsQuery).data;
  const outages = useQuery(outagesQuery);
  const failed = chronological(outages.data ?? [], latest ?? []).find(
    (event) => event.uid === uid && event.type === 'node_failed',
  );
  const minute = Math.ceil(now / 60_000) * 60;
  const from = failed ? startOf(failed) / 1000 : minute;
  const until = failed ? endOf(failed) : null;
  const to = until === null ? minute : Math.min(until / 1000 + AFTER, minute);
  const story = useStory(Math.floor(from - BEFORE), Math.ceil(to));
  const incident = useMemo(
    () => (failed && story ? incidentOf(failed, story, now) : undefined),
    [failed, story, now],
  );
  if (!failed) return { incident: outages.isPending ? undefined : null, now };
  return { incident, now };
}
