/** Link to the section of the guide that describes an alarm and what to do. */
import { Link } from '@tanstack/react-router';
import type { LogEvent } from '@/api/types';

export function RunbookLink({ alarm }: { alarm: LogEvent }) {
  return (
    <Link to="/guide/$page" params={{ page: 'alarms' }} hash={alarm.type}>
      What to do
    </Link>
  );
}
