/** What another number of shards costs, at both paces, before it is saved: time and latency as the console estimates them. */
import type { ReshardPreview } from '@/api/types';
import { format, plural } from '@/lib/format';
import classes from './databases.module.css';

export function ReshardCost({ cost }: { cost: ReshardPreview }) {
  return (
    <>
      <p>{cargoWords(cost)}</p>
      <table className={`num ${classes.planNodes}`}>
        <caption className="sr-only">Time and latency at each pace</caption>
        <thead>
          <tr>
            <th scope="col">Pace</th>
            <th scope="col">Time</th>
            <th scope="col">What clients notice</th>
          </tr>
        </thead>
        <tbody>
          {cost.estimates.map(({ pace, time, latency, basis }) => (
            <tr key={pace}>
              <th scope="row">{pace === cost.pace ? `${pace} (set now)` : pace}</th>
              <td>{time}</td>
              <td title={basis}>{latency}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

/** Sizes only where the console knows them. */
export function cargoWords({ slots, keys, bytes }: ReshardPreview): string {
  const moved = plural(slots, 'slot');
  if (keys === undefined || bytes === undefined) return `${moved} to move.`;
  if (!keys) return `${moved} to move, without keys.`;
  // What an engine takes for itself is known to some megabytes only.
  const size = bytes > 0 ? format('bytes', bytes) : 'too small to measure';
  return `${moved} to move, with about ${plural(keys, 'key')}, ${size}.`;
}
