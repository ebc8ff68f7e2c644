/** API of the estimated RAM hit ratio of a database on flash. Each request queries the primaries, so poll only while the result is displayed. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { getQuery } from '../http';
import type { RamCurve } from '../types';

const POLL_MS = 10_000;

export const ramCurveQuery = (bdb: number) =>
  queryOptions({
    queryKey: ['ram-curve', bdb],
    queryFn: getQuery<RamCurve>(`/v1/bdbs/${bdb}/ram_curve`),
    placeholderData: keepPreviousData,
    refetchInterval: POLL_MS,
  });
