/** Who is signed in and what they may do. The session itself is an HttpOnly cookie the page never sees. */
import { type QueryClient, queryOptions, useQuery } from '@tanstack/react-query';
import { request } from './http';
import { offerQuery } from './sso';
import type { LoginForm, Session } from './types';

export const sessionQuery = queryOptions({
  queryKey: ['session'],
  queryFn: () => request<Session>('GET', '/v1/session'),
  staleTime: 5 * 60_000,
  retry: false,
});

export const signIn = (form: LoginForm) => request<Session>('POST', '/v1/session', form);

/** All that was fetched as somebody. What everybody is told stays: the sign-in page shows it already. */
export function forgetUser(client: QueryClient): void {
  const [forEverybody] = offerQuery.queryKey;
  client.removeQueries({ predicate: ({ queryKey: [kind] }) => kind !== forEverybody });
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
/** What concerns more than one database. */
const OF_ALL: readonly string[] = ['create', 'upgradeNodes', 'readIncidents', 'seeAll'];

/** Whether the role allows it; the console decides, this only spares a refusal. */
export function useMay(what: keyof typeof MAY): boolean {
  const session = useQuery(sessionQuery).data;
  if (session?.bdbs && OF_ALL.includes(what)) return false;
  return MAY[what].some((allowed) => allowed === session?.role);
}

export const ROLE_FORBIDS = 'Your role may look, but not change this';
