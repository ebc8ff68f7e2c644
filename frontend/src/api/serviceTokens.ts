/** What programs log in with; for administrators and user managers. */
import { queryOptions } from '@tanstack/react-query';
import { read, request } from './http';
import type { MadeServiceToken, NewServiceToken, ServiceToken } from './types';

const PATH = '/v1/service_tokens';

export const serviceTokensQuery = queryOptions({
  queryKey: ['service_tokens'],
  queryFn: read<ServiceToken[]>(PATH),
  refetchInterval: 15_000,
});

/** With the token itself, which is shown this once. */
export const createServiceToken = (wanted: NewServiceToken) =>
  request<MadeServiceToken>('POST', PATH, wanted);

export const removeServiceToken = (uid: number) => request<unknown>('DELETE', `${PATH}/${uid}`);
