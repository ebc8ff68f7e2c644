/** API of the session: the signed-in user and their permissions. The session is an HttpOnly cookie that scripts cannot read. */
import { type QueryClient, queryOptions, useQuery } from '@tanstack/react-query';
import { request } from '../http';
import type { LoginForm, Session } from '../types';
import { ssoStatusQuery } from './sso';

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: () => request<Session>('GET', '/v1/session'),
  staleTime: 5 * 60_000,
  retry: false,
});

export const signIn = (form: LoginForm) => request<Session>('POST', '/v1/session', form);

/** Clear all data that was fetched for the user. Public data, which the sign-in page already shows, is kept. */
export function clearUserData(client: QueryClient): void {
  const [publicKey] = ssoStatusQuery.queryKey;
  client.removeQueries({ predicate: ({ queryKey: [kind] }) => kind !== publicKey });
  client.getMutationCache().clear();
}

export const signOut = () => request<void>('DELETE', '/v1/session');

const EDITORS = ['admin', 'cluster_member', 'db_member'];
const LOG_VIEWERS = [...EDITORS, 'cluster_viewer', 'user_manager'];
const MAY = {
  edit: EDITORS,
  create: EDITORS,
  upgradeNodes: EDITORS,
  administer: ['admin'],
  debug: ['admin', 'cluster_member'],
  manageUsers: ['admin', 'user_manager'],
  readLog: LOG_VIEWERS,
  readIncidents: LOG_VIEWERS,
  seeAll: [...LOG_VIEWERS, 'db_viewer'],
} as const;
/** Permissions that concern more than one database. */
const CLUSTER_WIDE: readonly string[] = ['create', 'upgradeNodes', 'readIncidents', 'seeAll'];

/** Return whether the role allows an operation. The console enforces permissions; this only disables controls. */
export function usePermission(permission: keyof typeof MAY): boolean {
  const session = useQuery(sessionQuery).data;
  if (session?.bdbs && CLUSTER_WIDE.includes(permission)) return false;
  return MAY[permission].some((allowed) => allowed === session?.role);
}

export const ROLE_DENIED_TEXT = 'Your role does not allow changes here';
