/** Databases. The list is the one cached copy; a single database is picked out of it. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { request } from './http';
import type { Bdb, CreateBdb, UpdateBdb } from './types';

export const bdbsQuery = queryOptions({
  queryKey: ['bdbs'],
  queryFn: () => request<Bdb[]>('GET', '/v1/bdbs'),
});

export function useBdb(uid: number) {
  return useQuery({ ...bdbsQuery, select: (list) => list.find((bdb) => bdb.uid === uid) ?? null });
}

export const createBdb = (body: CreateBdb) => request<Bdb>('POST', '/v1/bdbs', body);

export const updateBdb = (uid: number, body: UpdateBdb) =>
  request<Bdb>('PUT', `/v1/bdbs/${uid}`, body);

export const flushBdb = (uid: number) => request<Bdb>('PUT', `/v1/bdbs/${uid}/flush`, {});

export const deleteBdb = (uid: number) => request<unknown>('DELETE', `/v1/bdbs/${uid}`);
