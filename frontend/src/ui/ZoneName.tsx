/** Name of the time zone in which times are shown, for the headers of columns. */
import { zoneName } from '@/lib/time';
import { useZone } from './useZone';

export function ZoneName() {
  return <small className="dim">({zoneName(useZone())})</small>;
}
