/** Hook for the selected time zone. */
import { useSyncExternalStore } from 'react';
import { type Zone, zoneStore } from '@/lib/time';

export function useZone(): Zone {
  return useSyncExternalStore(zoneStore.subscribe, zoneStore.get);
}
