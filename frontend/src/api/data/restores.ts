/** API of restores, imports, and inspections of files before an import. */
import { queryOptions, useQuery } from '@tanstack/react-query';
import { getQuery, request } from '../http';
import { streamedList } from '../streamedList';
import type {
  ImportReport,
  ImportRequest,
  InspectRequest,
  Restore,
  RestoreRequest,
  RestoreWindow,
  StartedRestore,
} from '../types';
import { fetchPages } from './pages';

const PATH = '/v1/restores';

/** All restores, imports and inspections that the console keeps. */
export const restoresQuery = {
  ...streamedList<Restore>('restores', PATH),
  queryFn: () => fetchPages<Restore>(PATH),
};

/** Return the restores, imports and inspections of a database. */
export const useRestores = (bdb: number) =>
  useQuery({
    ...restoresQuery,
    select: (list) => list.filter(({ bdb_uid }) => bdb_uid === bdb),
  });

const WINDOWS_POLL_MS = 10_000;

/** Moments to which a database can be restored. */
export const restoreWindowsQuery = (bdb: number) =>
  queryOptions({
    queryKey: ['restore_windows', bdb],
    queryFn: getQuery<RestoreWindow[]>(`/v1/bdbs/${bdb}/restore_windows`),
    refetchInterval: WINDOWS_POLL_MS,
  });

/** The same of all databases, also of deleted ones. */
export const allRestoreWindowsQuery = queryOptions({
  queryKey: ['restore_windows'],
  queryFn: getQuery<RestoreWindow[]>('/v1/restore_windows'),
  refetchInterval: WINDOWS_POLL_MS,
});

export const startRestore = (bdb: number, body: RestoreRequest) =>
  request<StartedRestore>('POST', `/v1/bdbs/${bdb}/actions/restore`, body);

/** Delete all keys of a database, then import files into it. */
export const startImport = (bdb: number, body: ImportRequest) =>
  request<StartedRestore>('POST', `/v1/bdbs/${bdb}/actions/import`, body);

/** Start an inspection of files before an import. The database is not changed. */
export const startInspection = (bdb: number, body: InspectRequest) =>
  request<StartedRestore>('POST', `/v1/bdbs/${bdb}/actions/inspect`, body);

/** The report of an inspection that has ended, or of an import. */
export const reportQuery = (uid: number) =>
  queryOptions({
    queryKey: ['restores', uid, 'report'],
    queryFn: getQuery<ImportReport>(`${PATH}/${uid}/report`),
    staleTime: Number.POSITIVE_INFINITY,
  });
