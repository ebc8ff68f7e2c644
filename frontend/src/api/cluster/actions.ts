/** API of actions: long operations with progress. */
import { useQuery } from '@tanstack/react-query';
import { request } from '../http';
import { streamedList } from '../streamedList';
import type { Action } from '../types';

export const actionsQuery = streamedList<Action>('actions', '/v2/actions');

/** Tolerated difference between the clocks of the console and the browser. */
const CLOCKS_MS = 5_000;

/** Request the cancellation of an action. Steps that have started are completed or undone first. */
export const cancelAction = (uid: string) => request<unknown>('DELETE', `/v1/actions/${uid}`);

export const isRunning = ({ status }: Action): boolean =>
  status === 'queued' || status === 'running';

export const isDrill = ({ name }: Pick<Action, 'name'>): boolean => name === 'SMDrill';

const drills = (actions: readonly Action[]): Action[] =>
  actions.filter((action) => isDrill(action) && isRunning(action));

export function useRunningDrills(): readonly Action[] {
  return useQuery({ ...actionsQuery, select: drills }).data ?? [];
}

/** Return the newest drill on a node that was requested since `since` (epoch milliseconds, console clock), in any state. */
export function useDrillSince(node: number, since: number): Action | undefined {
  const { data } = useQuery(actionsQuery);
  return (data ?? [])
    .filter(
      ({ name, creation_time, additional_info }) =>
        isDrill({ name }) &&
        Number(additional_info?.object_uid) === node &&
        creation_time * 1000 >= since - CLOCKS_MS,
    )
    .sort((a, b) => b.creation_time - a.creation_time)[0];
}

export type ShardMove = NonNullable<NonNullable<Action['additional_info']>['moves']>[number];

/** Return the shard moves of a database that are running or queued. */
export function openMoves(actions: readonly Action[], bdb: number): ShardMove[] {
  return actions
    .filter(isRunning)
    .flatMap(({ additional_info }) => additional_info?.moves ?? [])
    .filter(({ bdb_uid }) => bdb_uid === bdb);
}

export function useRunningActions(type: 'node' | 'bdb', uid: number): readonly Action[] {
  const { data } = useQuery(actionsQuery);
  return (data ?? []).filter((action) => {
    const { object_type, object_uid } = action.additional_info ?? {};
    return isRunning(action) && object_type === type && Number(object_uid) === uid;
  });
}
