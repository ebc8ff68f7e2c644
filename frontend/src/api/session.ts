/** Who is signed in. The session itself is an HttpOnly cookie the page never sees. */
import { queryOptions } from '@tanstack/react-query';
import { request } from './http';
import type { Session } from './types';

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: () => request<Session>('GET', '/v1/session'),
  staleTime: 5 * 60_000,
  retry: false,
});

export const signIn = (username: string, password: string) =>
  request<Session>('POST', '/v1/session', { username, password });

export const signOut = () => request<void>('DELETE', '/v1/session');
