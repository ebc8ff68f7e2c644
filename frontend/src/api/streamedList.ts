/** Queries for lists that the stream keeps up to date. */
import { queryOptions } from '@tanstack/react-query';
import { request } from './http';

/**
 * Return query options for a list that is never aborted or evicted: otherwise changes that the stream sent during the request would be lost.
 */
export const streamedList = <T>(name: string, path: string) =>
  queryOptions({
    queryKey: [name],
    queryFn: () => request<T[]>('GET', path),
    gcTime: Number.POSITIVE_INFINITY,
  });
