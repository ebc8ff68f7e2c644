/** API of the availability of databases by month of UTC. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { getQuery } from '../http';
import type { AvailabilityOfDatabase, AvailabilityOfMonth, Incident } from '../types';

const POLL_MS = 10_000;
export const MAX_INCIDENTS = 100;

/** `month` such as "2026-11"; undefined for the current month. */
const monthPath = (month?: string) => `/v1/availability${month ? `?month=${month}` : ''}`;
const databasePath = (bdb: number) => `/v1/bdbs/${bdb}/availability/months`;

export const monthQuery = (month?: string) =>
  queryOptions({
    queryKey: ['availability', 'month', month],
    queryFn: getQuery<AvailabilityOfMonth>(monthPath(month)),
    placeholderData: keepPreviousData,
    refetchInterval: POLL_MS,
  });

export const databaseMonthsQuery = (bdb: number) =>
  queryOptions({
    queryKey: ['availability', 'database', bdb],
    queryFn: getQuery<AvailabilityOfDatabase>(databasePath(bdb)),
    refetchInterval: POLL_MS,
  });

export const monthCsvPath = (month: string) => `${monthPath(month)}&format=csv`;
export const databaseCsvPath = (bdb: number) => `${databasePath(bdb)}?format=csv`;

/** The newest incidents that overlap a month and in which a database lost primaries. */
export const monthIncidentsQuery = (bdb: number, month: string) =>
  queryOptions({
    queryKey: ['incidents-past', bdb, month],
    queryFn: getQuery<Incident[]>(
      `/v1/incidents?bdb_uid=${bdb}&from=${month}-01T00:00:00Z&to=${followingMonth(month)}-01T00:00:00Z&limit=${MAX_INCIDENTS}`,
    ),
    refetchInterval: 60_000,
  });

export function followingMonth(month: string): string {
  const [year = 0, number = 0] = month.split('-').map(Number);
  return new Date(Date.UTC(year, number)).toISOString().slice(0, 7);
}
