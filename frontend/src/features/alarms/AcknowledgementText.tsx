/** Cell with the acknowledgement of an alarm: who takes care of it, until when, and the note. */
import type { LogEvent } from '@/api/types';
import { Ago, Stamp } from '@/ui/Ago';
import { Dash } from '@/ui/Dash';
import classes from './alarms.module.css';

interface Props {
  alarm: LogEvent;
  /** Whether the acknowledgement has not expired. */
  isValid: boolean;
}

export function AcknowledgementText({ alarm: { acknowledgement }, isValid }: Props) {
  if (!acknowledgement) return <Dash reason="Not acknowledged" />;
  const { username, time, until, note, assigned_to: assignee } = acknowledgement;
  return (
    <div className={classes.acknowledgement}>
      <span>
        Assigned to <strong>{assignee}</strong>
      </span>
      {note && <q>{note}</q>}
      <span className="dim">
        {username === assignee ? '' : `By ${username}, `}
        <Ago time={time} />
        {isValid ? (until ? ', until ' : ', until the alarm ends') : ', expired '}
        {until && <Stamp time={until} />}
      </span>
    </div>
  );
}
