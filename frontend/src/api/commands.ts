/** Which commands clients of a database use most. Proxies are asked when this is called, so only while it is looked at. */
import { queryOptions } from '@tanstack/react-query';
import { request } from './http';
import type { EndpointCommands } from './types';

const LOOK_AGAIN_MS = 2_000;

export const endpointCommandsQuery = (bdb: number) =>
  queryOptions({
    queryKey: ['endpoint-commands', bdb],
    queryFn: ({ signal }) =>
      request<EndpointCommands>('GET', `/v1/bdbs/${bdb}/endpoint/commands`, undefined, signal),
    refetchInterval: LOOK_AGAIN_MS,
  });
