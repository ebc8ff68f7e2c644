/** Long operations with progress. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { request } from './http';
import type { Action } from './types';

export const actionsQuery = queryOptions({
  queryKey: ['actions'],
  queryFn: () => request<Action[]>('GET', '/v2/actions'),
});

/** Asks for it; what has begun is ended or undone first. */
export const cancelAction = (uid: string) => request<unknown>('DELETE', `/v1/actions/${uid}`);

export const isRunning = ({ status }: Action): boolean =>
  status === 'queued' || status === 'running';

const drills = (actions: readonly Action[]): Action[] =>
  actions.filter((action) => action.name === 'SMDrill' && isRunning(action));

export function useRunningDrills(): readonly Action[] {
  return useQuery({ ...actionsQuery, select: drills }).data ?? [];
}

export function useRunningActions(type: 'node' | 'bdb', uid: number): readonly Action[] {
  const { data } = useQuery(actionsQuery);
  return (data ?? []).filter((action) => {
    const { object_type, object_uid } = action.additional_info ?? {};
    return isRunning(action) && object_type === type && Number(object_uid) === uid;
  });
}
