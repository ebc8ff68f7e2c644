/** Events tab: the events of one database. */
import { useNavigate, useParams, useSearch } from '@tanstack/react-router';
import { EventLog } from '@/features/events/EventLog';
import { useEventSpan } from '../../useEventSpan';

export function DatabaseEventsTab() {
  const { uid } = useParams({ from: '/shell/databases/$uid/events' });
  const filter = useSearch({ from: '/shell/databases/$uid/events' });
  const span = useEventSpan(filter.span);
  const navigate = useNavigate({ from: '/databases/$uid/events' });
  return (
    <EventLog
      bdbUid={Number(uid)}
      filter={filter}
      span={span}
      onFilter={(change) => navigate({ search: (now) => ({ ...now, ...change }), replace: true })}
    />
  );
}
