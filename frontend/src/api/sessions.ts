/** Where a user is signed in: one's own sessions, or those of users whom one may change. */
import { queryOptions } from '@tanstack/react-query';
import { read, request } from './http';
import type { UserSession } from './types';

const pathOf = (user: number) => `/v1/users/${user}/sessions`;

export const sessionsQuery = (user: number) =>
  queryOptions({
    queryKey: ['sessions', user],
    queryFn: read<UserSession[]>(pathOf(user)),
    refetchInterval: 15_000,
  });

export const endSession = (user: number, session: number) =>
  request<unknown>('DELETE', `${pathOf(user)}/${session}`);

/** All but the one that asks. */
export const endSessions = (user: number) => request<{ ended: number }>('DELETE', pathOf(user));
