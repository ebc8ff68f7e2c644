/** Selection of the URL: events by uid, or one action. */
import { useQuery } from '@tanstack/react-query';
import { actionsQuery } from '@/api/cluster/actions';
import type { Action, LogEvent } from '@/api/types';

export interface Selection {
  events: LogEvent[];
  action: Action | undefined;
}

export function useSelection(chosen: string | undefined, events: readonly LogEvent[]): Selection {
  const actions = useQuery(actionsQuery).data;
  if (chosen?.startsWith('action:')) {
    const uid = chosen.slice('action:'.length);
    return { events: [], action: actions?.find(({ action_uid }) => action_uid === uid) };
  }
  const uids = new Set((chosen ?? '').split(',').filter(Boolean).map(Number));
  return { events: events.filter(({ uid }) => uids.has(uid)), action: undefined };
}
