/** Active alarms, separated by whether they are acknowledged. */
import { useCallback, useMemo } from 'react';
import { isAcknowledged } from '@/api/alerting/acknowledgements';
import { useActiveAlarms } from '@/api/alerting/health';
import type { LogEvent } from '@/api/types';
import { useTimeText } from '@/ui/Ago';

export interface Alarms {
  /** Alarms without an acknowledgement, or whose acknowledgement has expired. */
  open: LogEvent[];
  acknowledged: LogEvent[];
}

/** Return the active alarms; undefined while they are unknown. Renders again when an acknowledgement expires. */
export function useAlarms(): Alarms | undefined {
  const alarms = useActiveAlarms();
  const acknowledged = useTimeText(
    useCallback(
      (now: number) =>
        (alarms ?? [])
          .filter((alarm) => isAcknowledged(alarm, now))
          .map(({ uid }) => uid)
          .join(),
      [alarms],
    ),
  );
  return useMemo(() => {
    const uids = new Set(acknowledged.split(',').map(Number));
    return (
      alarms && {
        open: alarms.filter(({ uid }) => !uids.has(uid)),
        acknowledged: alarms.filter(({ uid }) => uids.has(uid)),
      }
    );
  }, [alarms, acknowledged]);
}
