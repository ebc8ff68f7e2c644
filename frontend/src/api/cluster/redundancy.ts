/** Effects of the loss of a node or a zone. */
import { queryOptions } from '@tanstack/react-query';
import { getQuery } from '../http';
import type { Redundancy } from '../types';

/** Polling interval in milliseconds. The effects depend on shards, nodes, databases, and their states. */
const POLL_MS = 15_000;

export const redundancyQuery = queryOptions({
  queryKey: ['redundancy'],
  queryFn: getQuery<Redundancy>('/v1/cluster/redundancy'),
  refetchInterval: POLL_MS,
});
