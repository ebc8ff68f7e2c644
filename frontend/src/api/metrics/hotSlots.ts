/** API of the hottest hash slots of a database. Each request queries the primaries, so poll only while the result is displayed. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { getQuery } from '../http';
import type { HotSlots } from '../types';

export type SlotMetric = HotSlots['by'];

/** Rates need two snapshots, so the second request follows soon. */
const FIRST_POLL_MS = 2_000;
const POLL_MS = 5_000;

export const hotSlotsQuery = (bdb: number, by: SlotMetric) =>
  queryOptions({
    queryKey: ['hot-slots', bdb, by],
    queryFn: getQuery<HotSlots>(`/v1/bdbs/${bdb}/slots/hot?by=${by}`),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      state.data && state.data.interval === undefined ? FIRST_POLL_MS : POLL_MS,
  });
