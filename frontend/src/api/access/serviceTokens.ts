/** API of service tokens for programs. Requires an administrator or user manager. */
import { queryOptions } from '@tanstack/react-query';
import { getQuery, request } from '../http';
import type { CreatedServiceToken, NewServiceToken, ServiceToken } from '../types';

const PATH = '/v1/service_tokens';

export const serviceTokensQuery = queryOptions({
  queryKey: ['service_tokens'],
  queryFn: getQuery<ServiceToken[]>(PATH),
  refetchInterval: 15_000,
});

/** Create a token. Only this reply contains the token itself. */
export const createServiceToken = (token: NewServiceToken) =>
  request<CreatedServiceToken>('POST', PATH, token);

export const removeServiceToken = (uid: number) => request<unknown>('DELETE', `${PATH}/${uid}`);
