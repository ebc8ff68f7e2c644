/** API of the console CA and its replacement. */
import { queryOptions } from '@tanstack/react-query';
import { read, request } from './http';
import type { AuthorityCertificate, ConsoleAuthority } from './types';

const PATH = '/v1/cluster/authority';

/** Polling interval in milliseconds during a replacement, and at other times, because another administrator can start one. */
const BUSY_POLL_MS = 2000;
const IDLE_POLL_MS = 15_000;

export const authorityQuery = queryOptions({
  queryKey: ['authority'],
  queryFn: read<ConsoleAuthority>(PATH),
  staleTime: 0,
  refetchInterval: ({ state }) => (state.data?.step ? BUSY_POLL_MS : IDLE_POLL_MS),
});

/** Download of all CAs that clients must trust, including the next one during a replacement. */
export const BUNDLE = '/v1/ca/bundle';

export const requestAuthority = (names: { common_name: string; organization: string }) =>
  request<unknown>('POST', `${PATH}/request`, names);

/** Validate a certificate (PEM) for the pending signing request and return its fields without announcing it. */
export const checkAuthority = (certificate: string) =>
  request<AuthorityCertificate>('POST', `${PATH}/announce?dry_run=true`, { certificate });

/** Announce a signed certificate, or a new self-signed CA if `certificate` is undefined. */
export const announceAuthority = (certificate?: string) =>
  request<unknown>('POST', `${PATH}/announce`, certificate ? { certificate } : {});

export const switchAuthority = () => request<unknown>('POST', `${PATH}/switch`);

export const withdrawAuthority = () => request<unknown>('DELETE', `${PATH}/next`);
