/** API of restores and imports. */
import { useQuery } from '@tanstack/react-query';
import { request } from '../http';
import { streamedList } from '../streamedList';
import type { ImportRequest, Restore, RestoreRequest, StartedRestore } from '../types';

/** The newest restores and imports; older ones are only in the event log. */
export const restoresQuery = streamedList<Restore>('restores', '/v1/restores');

/** Return the restores and imports of a database. */
export const useRestores = (bdb: number) =>
  useQuery({
    ...restoresQuery,
    select: (list) => list.filter(({ bdb_uid }) => bdb_uid === bdb),
  });

export const startRestore = (bdb: number, body: RestoreRequest) =>
  request<StartedRestore>('POST', `/v1/bdbs/${bdb}/actions/restore`, body);

/** Delete all keys of a database, then import files into it. */
export const startImport = (bdb: number, body: ImportRequest) =>
  request<StartedRestore>('POST', `/v1/bdbs/${bdb}/actions/import`, body);
