/** Events page: the event log of the cluster. */
import { useNavigate, useSearch } from '@tanstack/react-router';
import { EventLog } from '@/features/events/EventLog';
import { useEventSpan } from '../../useEventSpan';
import classes from '../pages.module.css';
import { SectionHead } from '../SectionHead';

export function EventsPage() {
  const filter = useSearch({ from: '/shell/activity/events' });
  const span = useEventSpan(filter.span);
  const navigate = useNavigate({ from: '/activity/events' });
  return (
    <div className={classes.page}>
      <SectionHead section="activity" />
      <EventLog
        filter={filter}
        span={span}
        onFilter={(change) => navigate({ search: (now) => ({ ...now, ...change }), replace: true })}
      />
    </div>
  );
}
