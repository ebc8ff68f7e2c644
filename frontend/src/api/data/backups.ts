/** API of backups. */
import { queryOptions } from '@tanstack/react-query';
import { getQuery, request, startDownload } from '../http';
import { streamedList } from '../streamedList';
import type {
  Backup,
  BackupAnalysis,
  BackupGrowth,
  BackupScheduleState,
  ExportRequest,
  StartedBackup,
  StartedVerification,
} from '../types';
import { fetchPages } from './pages';

const PATH = '/v1/backups';
const SCHEDULES_POLL_MS = 10_000;

export const backupsQuery = {
  ...streamedList<Backup>('backups', PATH),
  queryFn: () => fetchPages<Backup>(PATH),
};

/** Start a backup in a stored location. */
export const startBackup = (bdb: number, location_uid: number) =>
  request<StartedBackup>('POST', `/v1/bdbs/${bdb}/actions/backup`, { location_uid });

/** Start an export to a location that is not stored. */
export const startExport = (bdb: number, body: ExportRequest) =>
  request<StartedBackup>('POST', `/v1/bdbs/${bdb}/actions/export`, body);

/** Analysis of the contents of a successful backup. It contains keys and requires an editor role. */
export const analysisQuery = (uid: number) =>
  queryOptions({
    queryKey: ['backups', uid, 'analysis'],
    queryFn: getQuery<BackupAnalysis>(`${PATH}/${uid}/analysis`),
    staleTime: Number.POSITIVE_INFINITY,
  });

/** Changes since the previous backup of the same database. Like the analysis. */
export const growthQuery = (uid: number) =>
  queryOptions({
    queryKey: ['backups', uid, 'growth'],
    queryFn: getQuery<BackupGrowth>(`${PATH}/${uid}/growth`),
  });

/** States of all schedules. The settings are fields of the databases. */
export const schedulesQuery = queryOptions({
  queryKey: ['backup_schedules'],
  queryFn: getQuery<BackupScheduleState[]>('/v1/backup_schedules'),
  refetchInterval: SCHEDULES_POLL_MS,
});

/** Restore a backup into a temporary database and compare the keys. */
export const verifyBackup = (uid: number) =>
  request<StartedVerification>('POST', `${PATH}/${uid}/actions/verify`);

/** Continue a failed backup with the files that are missing. */
export const resumeBackup = (uid: number) =>
  request<StartedBackup>('POST', `${PATH}/${uid}/actions/resume`);

/** Download all files of a backup as an archive. */
export const downloadBackup = (uid: number) => startDownload(`${PATH}/${uid}/archive`);

/** Delete a backup with its files. */
export const deleteBackup = (uid: number) => request<Backup>('DELETE', `${PATH}/${uid}`);
