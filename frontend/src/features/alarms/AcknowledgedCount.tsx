/** Number of acknowledged alarms, which the overview does not list as problems. */
import { plural } from '@/lib/format';
import { useAlarms } from './useAlarms';

export function AcknowledgedCount() {
  const count = useAlarms()?.acknowledged.length ?? 0;
  if (count === 0) return null;
  return <span className="dim">{plural(count, 'acknowledged alarm')}</span>;
}
