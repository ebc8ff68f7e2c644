/** API of the most frequent commands of a database. Each request queries the proxies, so poll only while the result is displayed. */
import { queryOptions } from '@tanstack/react-query';
import { getQuery } from '../http';
import type { EndpointCommands } from '../types';

const POLL_MS = 2_000;

export const endpointCommandsQuery = (bdb: number) =>
  queryOptions({
    queryKey: ['endpoint-commands', bdb],
    queryFn: getQuery<EndpointCommands>(`/v1/bdbs/${bdb}/endpoint/commands`),
    refetchInterval: POLL_MS,
  });
