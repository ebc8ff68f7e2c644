/** Lists that the stream keeps up to date. */
import { queryOptions } from '@tanstack/react-query';
import { request } from './http';

/**
 * Never cut short, and kept while nobody looks: what the stream told while a reply was on its way would be lost with it.
 */
export const followed = <T>(name: string, path: string) =>
  queryOptions({
    queryKey: [name],
    queryFn: () => request<T[]>('GET', path),
    gcTime: Number.POSITIVE_INFINITY,
  });
