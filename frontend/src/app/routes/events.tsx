/** Events page: the event log of the cluster. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { EventLog } from '@/features/events/EventLog';
import { useEventSpan } from '../useEventSpan';
import classes from './pages.module.css';

export function EventsPage() {
  const filter = useSearch({ from: '/shell/events' });
  const span = useEventSpan(filter.span);
  const navigate = useNavigate({ from: '/events' });
  return (
    <div className={classes.page}>
      <h1>Events</h1>
      <EventLog
        filter={filter}
        span={span}
        onFilter={(change) => navigate({ search: (now) => ({ ...now, ...change }), replace: true })}
      />
    </div>
  );
}
