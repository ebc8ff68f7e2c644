/** Who is signed in and what they may do. The session itself is an HttpOnly cookie the page never sees. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { request } from './http';
import type { LoginForm, Session } from './types';

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: () => request<Session>('GET', '/v1/session'),
  staleTime: 5 * 60_000,
  retry: false,
});

export const signIn = (form: LoginForm) => request<Session>('POST', '/v1/session', form);

export const signOut = () => request<void>('DELETE', '/v1/session');

const MAY = {
  edit: ['admin', 'cluster_member', 'db_member'],
  administer: ['admin'],
  debug: ['admin', 'cluster_member'],
  manageUsers: ['admin', 'user_manager'],
  readLog: ['admin', 'cluster_member', 'cluster_viewer', 'db_member', 'user_manager'],
} as const;

/** Whether the role allows it; the console decides, this only spares a refusal. */
export function useMay(what: keyof typeof MAY): boolean {
  const role = useQuery(sessionQuery).data?.role;
  return MAY[what].some((allowed) => allowed === role);
}

export const ROLE_FORBIDS = 'Your role may look, but not change this';
