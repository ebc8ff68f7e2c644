/** API of service tokens for programs. Requires an administrator or user manager. */
import { queryOptions } from '@tanstack/react-query';
import { read, request } from './http';
import type { MadeServiceToken, NewServiceToken, ServiceToken } from './types';

const PATH = '/v1/service_tokens';

export const serviceTokensQuery = queryOptions({
  queryKey: ['service_tokens'],
  queryFn: read<ServiceToken[]>(PATH),
  refetchInterval: 15_000,
});

/** Create a token. Only this reply contains the token itself. */
export const createServiceToken = (wanted: NewServiceToken) =>
  request<MadeServiceToken>('POST', PATH, wanted);

export const removeServiceToken = (uid: number) => request<unknown>('DELETE', `${PATH}/${uid}`);
