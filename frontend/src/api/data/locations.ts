/** API of backup locations. Only administrators can change them and see more than their name and type. */
import { queryOptions } from '@tanstack/react-query';
import { getQuery, request } from '../http';
import type {
  BackupLocation,
  FoundBackups,
  LocationChecks,
  LocationSettings,
  LocationUpdate,
  NewBackupKey,
  NewLocation,
} from '../types';

const PATH = '/v1/backup_locations';

export const locationsQuery = queryOptions({
  queryKey: ['backup_locations'],
  queryFn: getQuery<BackupLocation[]>(PATH),
});

export const createLocation = (body: NewLocation) => request<BackupLocation>('POST', PATH, body);

/** Change a location. Secrets that the request omits are kept. */
export const changeLocation = (uid: number, body: LocationUpdate) =>
  request<BackupLocation>('PUT', `${PATH}/${uid}`, body);

export const deleteLocation = (uid: number) => request<unknown>('DELETE', `${PATH}/${uid}`);

/** Create a key pair for encrypted backups. It is not stored. */
export const createBackupKey = () => request<NewBackupKey>('POST', `${PATH}/actions/create_key`);

/** Write, read, list and delete a small file in a location that is not stored yet. */
export const testNewLocation = (location: LocationSettings) =>
  request<LocationChecks>('POST', `${PATH}/actions/test`, { location });

export const testLocation = (uid: number) =>
  request<LocationChecks>('POST', `${PATH}/${uid}/actions/test`, {});

/** Add the backups in a location that the console does not know to the list of backups. */
export const findBackups = (uid: number) =>
  request<FoundBackups>('POST', `${PATH}/${uid}/actions/find_backups`);
