/** The newest events, short. */
import { useQuery } from '@tanstack/react-query';
import { eventsQuery } from '@/api/events';
import type { LogEvent } from '@/api/types';
import { Ago } from '@/ui/Ago';
import { StatusIcon } from '@/ui/Status';
import classes from './events.module.css';
import { describe, isRoutine } from './filter';

const SHOWN = 12;

const isQuiet = ({ severity }: LogEvent) => severity !== 'ERROR' && severity !== 'WARNING';

export function LatestEvents() {
  const { data } = useQuery(eventsQuery);
  // One that changes late, as an alarm that ends, is folded in at the front.
  const shown = data
    ?.filter((event) => !isRoutine(event))
    .sort((a, b) => b.uid - a.uid)
    .slice(0, SHOWN);
  if (shown?.length === 0) return <p className={classes.none}>Nothing has happened yet.</p>;
  return (
    <ol className={classes.latest}>
      {shown?.map((event) => (
        <li key={event.uid}>
          <span className={classes.icon} data-quiet={isQuiet(event) || undefined}>
            {event.severity === 'ERROR' && <StatusIcon tone="broken" />}
            {event.severity === 'WARNING' && <StatusIcon tone="attention" />}
          </span>
          <span>{describe(event)}</span>
          <span className="dim">
            <Ago time={event.time} />
          </span>
        </li>
      ))}
    </ol>
  );
}
