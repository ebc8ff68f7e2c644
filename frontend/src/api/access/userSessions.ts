/** API of user sessions: your own, and those of users that you can change. */
import { queryOptions } from '@tanstack/react-query';
import { getQuery, request } from '../http';
import type { UserSession } from '../types';

const pathOf = (user: number) => `/v1/users/${user}/sessions`;

export const sessionsQuery = (user: number) =>
  queryOptions({
    queryKey: ['sessions', user],
    queryFn: getQuery<UserSession[]>(pathOf(user)),
    refetchInterval: 15_000,
  });

export const endSession = (user: number, session: number) =>
  request<unknown>('DELETE', `${pathOf(user)}/${session}`);

/** End all sessions of a user except the current one. */
export const endSessions = (user: number) => request<{ ended: number }>('DELETE', pathOf(user));
