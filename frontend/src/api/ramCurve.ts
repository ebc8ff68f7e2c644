/** What more RAM would give a database on flash. Primaries are asked when this is called, so only while it is looked at. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { read } from './http';
import type { RamCurve } from './types';

const LOOK_AGAIN_MS = 10_000;

export const ramCurveQuery = (bdb: number) =>
  queryOptions({
    queryKey: ['ram-curve', bdb],
    queryFn: read<RamCurve>(`/v1/bdbs/${bdb}/ram_curve`),
    placeholderData: keepPreviousData,
    refetchInterval: LOOK_AGAIN_MS,
  });
