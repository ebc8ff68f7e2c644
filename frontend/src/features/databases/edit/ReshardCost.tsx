/** Estimated time and latency of resharding at both paces, shown before the change is saved. */
import type { ReshardPreview } from '@/api/types';
import { format, plural } from '@/lib/format';
import classes from '../databases.module.css';

export function ReshardCost({ cost }: { cost: ReshardPreview }) {
  return (
    <>
      <p>{movedDataText(cost)}</p>
      <table className={`num ${classes.planNodes}`}>
        <caption className="sr-only">Time and latency at each pace</caption>
        <thead>
          <tr>
            <th scope="col">Pace</th>
            <th scope="col">Time</th>
            <th scope="col">Effect on clients</th>
          </tr>
        </thead>
        <tbody>
          {cost.estimates.map(({ pace, time, latency, basis }) => (
            <tr key={pace}>
              <th scope="row">{pace === cost.pace ? `${pace} (current)` : pace}</th>
              <td>{time}</td>
              <td title={basis}>{latency}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

/** Return the amount of data to move. Keys and bytes are included only if the console knows them. */
export function movedDataText({ slots, keys, bytes }: ReshardPreview): string {
  const moved = plural(slots, 'slot');
  if (keys === undefined || bytes === undefined) return `${moved} to move.`;
  if (!keys) return `${moved} to move, without keys.`;
  // The engine's own memory is known only to within some megabytes, so small sizes cannot be measured.
  const size = bytes > 0 ? format('bytes', bytes) : 'too small to measure';
  return `${moved} to move, with about ${plural(keys, 'key')}, ${size}.`;
}
