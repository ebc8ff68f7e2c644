/** API of the console CA and its replacement. */
import { queryOptions } from '@tanstack/react-query';
import { getQuery, request } from '../http';
import type { CaCertificate, ConsoleCa } from '../types';

const PATH = '/v1/cluster/authority';

/** Polling interval in milliseconds during a replacement, and at other times, because another administrator can start one. */
const BUSY_POLL_MS = 2000;
const IDLE_POLL_MS = 15_000;

export const consoleCaQuery = queryOptions({
  queryKey: ['authority'],
  queryFn: getQuery<ConsoleCa>(PATH),
  staleTime: 0,
  refetchInterval: ({ state }) => (state.data?.step ? BUSY_POLL_MS : IDLE_POLL_MS),
});

/** Download of all CAs that clients must trust, including the next one during a replacement. */
export const CA_BUNDLE_PATH = '/v1/ca/bundle';

export const createSigningRequest = (names: { common_name: string; organization: string }) =>
  request<unknown>('POST', `${PATH}/request`, names);

/** Validate a certificate (PEM) for the pending signing request and return its fields without announcing it. */
export const checkCaCertificate = (certificate: string) =>
  request<CaCertificate>('POST', `${PATH}/announce?dry_run=true`, { certificate });

/** Announce a signed certificate, or a new self-signed CA if `certificate` is undefined. */
export const announceCa = (certificate?: string) =>
  request<unknown>('POST', `${PATH}/announce`, certificate ? { certificate } : {});

export const switchToNextCa = () => request<unknown>('POST', `${PATH}/switch`);

export const withdrawNextCa = () => request<unknown>('DELETE', `${PATH}/next`);
