/** Compact list of the newest events. */
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { eventsQuery } from '@/api/alerting/events';
import { useIncidents } from '@/api/failures/incidents';
import type { LogEvent } from '@/api/types';
import { plural } from '@/lib/format';
import { Ago } from '@/ui/Ago';
import { StatusIcon } from '@/ui/Status';
import classes from './events.module.css';
import { eventText, isRoutine } from './filter';
import { groupByIncident } from './incidentGroups';

const MAX_EVENTS = 12;
const NONE: ReadonlySet<number> = new Set();

const isInformational = ({ severity }: LogEvent) => severity !== 'ERROR' && severity !== 'WARNING';

export function LatestEvents() {
  const { data } = useQuery(eventsQuery);
  // Sort again, because an event that changes later, such as an alarm that ends, moves to the front
  // of the list.
  const incidents = useIncidents();
  const events = data?.filter((event) => !isRoutine(event)).sort((a, b) => b.uid - a.uid);
  const rows = events && groupByIncident(events, incidents ?? [], NONE).slice(0, MAX_EVENTS);
  if (rows?.length === 0) return <p className={classes.none}>No events yet.</p>;
  return (
    <ol className={classes.latest}>
      {rows?.map(({ event, group }) => (
        <li key={group ? `incident-${group.incident.uid}` : event.uid}>
          <span className={classes.icon} data-quiet={isInformational(event) || undefined}>
            {event.severity === 'ERROR' && <StatusIcon tone="broken" />}
            {event.severity === 'WARNING' && <StatusIcon tone="attention" />}
          </span>
          <span>
            {eventText(event)}
            {group && (
              <>
                {' '}
                <Link to="/activity/incidents/$uid" params={{ uid: String(group.incident.uid) }}>
                  Incident with {plural(group.count, 'event')}
                </Link>
              </>
            )}
          </span>
          <span className="dim">
            <Ago time={event.time} />
          </span>
        </li>
      ))}
    </ol>
  );
}
