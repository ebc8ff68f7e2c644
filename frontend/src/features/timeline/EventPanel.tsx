/** Details of an event: description, durations and related events. */
import { ActionIcon } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import { Link } from '@tanstack/react-router';
import { endOf, isSpan, startOf } from '@/api/failures/eventSpans';
import { useIncidents } from '@/api/failures/incidents';
import type { LogEvent } from '@/api/types';
import { formatDateTimeMs, formatPreciseDuration } from '@/lib/time';
import { useNow } from '@/ui/Ago';
import { Facts } from '@/ui/Facts';
import { useZone } from '@/ui/useZone';
import { EventRefs } from './EventRefs';
import { eventDetails, offsetText, phaseDurations } from './eventDetails';
import { EventTypeIcon } from './eventIcons';
import { eventTypeName, toneOf } from './eventTypes';
import { incidentWith, relatedEvents } from './incidents/incidentEvents';
import { failedComponent } from './incidents/incidentText';
import classes from './Timeline.module.css';

interface Props {
  /** Selected events. Several if a mark combines events that are close together. */
  chosen: readonly LogEvent[];
  events: readonly LogEvent[];
  onSelect: (id: string) => void;
  onClose: () => void;
}

export function EventPanel({ chosen, events, onSelect, onClose }: Props) {
  const [only] = chosen;
  if (!only) return null;
  return (
    <aside className={classes.panel} aria-label="Event">
      <header>
        <h2>
          {chosen.length === 1
            ? eventTypeName(only)
            : `${chosen.length} events in close succession`}
        </h2>
        <ActionIcon variant="subtle" color="gray" aria-label="Close" onClick={onClose}>
          <IconX size={16} />
        </ActionIcon>
      </header>
      {chosen.length === 1 ? (
        <Details event={only} events={events} onSelect={onSelect} />
      ) : (
        <EventList events={chosen} from={startOf(only)} onSelect={onSelect} />
      )}
    </aside>
  );
}

function Details({
  event,
  events,
  onSelect,
}: Omit<Props, 'chosen' | 'onClose'> & { event: LogEvent }) {
  const now = useNow();
  const zone = useZone();
  const incident = incidentWith(event, useIncidents() ?? []);
  const related = relatedEvents(event, events, incident);
  const end = endOf(event);
  const phases = phaseDurations(event, now);
  return (
    <>
      <p>{event.description}</p>
      <Facts
        items={[
          [isSpan(event) ? 'Started' : 'Time', formatDateTimeMs(startOf(event), zone)],
          ...(end === null ? [] : [['Ended', formatDateTimeMs(end, zone)] as const]),
          ...eventDetails(event, incident, now),
          ...phases.map(
            ({ name, seconds }) => [`Phase ${name}`, formatPreciseDuration(seconds)] as const,
          ),
        ]}
      />
      <EventRefs event={event} />
      {incident && (
        <Link to="/activity/incidents/$uid" params={{ uid: String(incident.uid) }}>
          Open incident of {failedComponent(incident)}
        </Link>
      )}
      {related.length > 1 && (
        <>
          <h3>{incident ? `Incident of ${failedComponent(incident)}` : 'Related'}</h3>
          <EventList
            events={related}
            from={incident?.detected_ms ?? startOf(related[0] ?? event)}
            current={event.uid}
            onSelect={onSelect}
          />
        </>
      )}
    </>
  );
}

interface ListProps {
  events: readonly LogEvent[];
  /** Reference time of the displayed offsets, in epoch milliseconds. */
  from: number;
  current?: number;
  onSelect: (id: string) => void;
}

function EventList({ events, from, current, onSelect }: ListProps) {
  return (
    <ol className={classes.chain}>
      {events.map((event) => (
        <li key={event.uid}>
          <button
            type="button"
            aria-current={event.uid === current || undefined}
            data-tone={toneOf(event)}
            onClick={() => onSelect(String(event.uid))}
          >
            <EventTypeIcon type={event.type} />
            <span className="num">{offsetText(event, from)}</span>
            <span>{event.description || eventTypeName(event)}</span>
          </button>
        </li>
      ))}
    </ol>
  );
}
