/** The console's certificate authority, and the orders that replace it. */
import { queryOptions } from '@tanstack/react-query';
import { read, request } from './http';
import type { AuthorityCertificate, ConsoleAuthority } from './types';

const PATH = '/v1/cluster/authority';

/** Milliseconds between two looks while it is being replaced, and at other times: somebody else may order it. */
const FOLLOW = 2000;
const LOOK = 15_000;

export const authorityQuery = queryOptions({
  queryKey: ['authority'],
  queryFn: read<ConsoleAuthority>(PATH),
  staleTime: 0,
  refetchInterval: ({ state }) => (state.data?.step ? FOLLOW : LOOK),
});

/** All that clients are to trust, while it is replaced, too. */
export const BUNDLE = '/v1/ca/bundle';

export const requestAuthority = (names: { common_name: string; organization: string }) =>
  request<unknown>('POST', `${PATH}/request`, names);

/** What a certificate (PEM) for the open request says; nothing changes. */
export const checkAuthority = (certificate: string) =>
  request<AuthorityCertificate>('POST', `${PATH}/announce?dry_run=true`, { certificate });

/** Without a certificate a new one of the console's own. */
export const announceAuthority = (certificate?: string) =>
  request<unknown>('POST', `${PATH}/announce`, certificate ? { certificate } : {});

export const switchAuthority = () => request<unknown>('POST', `${PATH}/switch`);

export const withdrawAuthority = () => request<unknown>('DELETE', `${PATH}/next`);
