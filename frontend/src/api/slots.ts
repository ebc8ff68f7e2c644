/** Which hash slots of a database take most. Primaries are asked when this is called, so only while it is looked at. */
import { keepPreviousData, queryOptions } from '@tanstack/react-query';
import { read } from './http';
import type { HotSlots } from './types';

export type SlotMetric = HotSlots['by'];

/** Rates need two looks: the second comes soon. */
const FIRST_LOOK_AGAIN_MS = 2_000;
const LOOK_AGAIN_MS = 5_000;

export const hotSlotsQuery = (bdb: number, by: SlotMetric) =>
  queryOptions({
    queryKey: ['hot-slots', bdb, by],
    queryFn: read<HotSlots>(`/v1/bdbs/${bdb}/slots/hot?by=${by}`),
    placeholderData: keepPreviousData,
    refetchInterval: ({ state }) =>
      state.data && state.data.interval === undefined ? FIRST_LOOK_AGAIN_MS : LOOK_AGAIN_MS,
  });
