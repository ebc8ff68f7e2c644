/** Which commands clients of a database use most. Proxies are asked when this is called, so only while it is looked at. */
import { queryOptions } from '@tanstack/react-query';
import { read } from './http';
import type { EndpointCommands } from './types';

const LOOK_AGAIN_MS = 2_000;

export const endpointCommandsQuery = (bdb: number) =>
  queryOptions({
    queryKey: ['endpoint-commands', bdb],
    queryFn: read<EndpointCommands>(`/v1/bdbs/${bdb}/endpoint/commands`),
    refetchInterval: LOOK_AGAIN_MS,
  });
