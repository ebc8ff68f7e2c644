/** API of backups of the console in storage locations. Only administrators can use it. */
import { queryOptions } from '@tanstack/react-query';
import { ApiError, getQuery, request, startDownload } from '../http';
import type { ConsoleBackup, ConsoleBackupSchedule, ConsoleBackupSettings } from '../types';

const PATH = '/v1/console_backups';
const SCHEDULE = `${PATH}/schedule`;
/** Polling intervals in milliseconds, while a backup changes and otherwise. */
const BUSY_MS = 2000;
const IDLE_MS = 30_000;

export const isUnfinished = ({ status }: Pick<ConsoleBackup, 'status'>): boolean =>
  status === 'waiting' || status === 'running';

const isChanging = (backup: ConsoleBackup) =>
  isUnfinished(backup) || backup.status === 'deleting' || backup.is_verifying;

export const consoleBackupsQuery = queryOptions({
  queryKey: ['console_backups'],
  queryFn: getQuery<ConsoleBackup[]>(PATH),
  refetchInterval: ({ state }) => (state.data?.some(isChanging) ? BUSY_MS : IDLE_MS),
});

/** The schedule; null if backups are not scheduled. */
export const consoleBackupScheduleQuery = queryOptions({
  queryKey: ['console_backup_schedule'],
  queryFn: async (context): Promise<ConsoleBackupSchedule | null> => {
    try {
      return await getQuery<ConsoleBackupSchedule>(SCHEDULE)(context);
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) return null;
      throw error;
    }
  },
});

export const backUpConsole = (location_uid: number) =>
  request<ConsoleBackup>('POST', PATH, { location_uid });

/** Read, decrypt and check a backup. */
export const verifyConsoleBackup = (uid: number) =>
  request<ConsoleBackup>('POST', `${PATH}/${uid}/actions/verify`);

/** Download the encrypted file of a backup. */
export const downloadConsoleBackup = (uid: number) => startDownload(`${PATH}/${uid}/content`);

export const deleteConsoleBackup = (uid: number) => request<unknown>('DELETE', `${PATH}/${uid}`);

export const scheduleConsoleBackups = (settings: ConsoleBackupSettings) =>
  request<ConsoleBackupSchedule>('PUT', SCHEDULE, settings);

export const unscheduleConsoleBackups = () => request<unknown>('DELETE', SCHEDULE);
