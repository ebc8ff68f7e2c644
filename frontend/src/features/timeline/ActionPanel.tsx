/** Details of an action on the timeline: originator, progress and steps. */
import { ActionIcon } from '@mantine/core';
import { IconX } from '@tabler/icons-react';
import type { Action, LogEvent } from '@/api/types';
import { duration } from '@/lib/time';
import { Stamp } from '@/ui/Ago';
import { Facts } from '@/ui/Facts';
import classes from './Timeline.module.css';

interface Props {
  action: Action;
  events: readonly LogEvent[];
  onSelect: (id: string) => void;
  onClose: () => void;
}

export function ActionPanel({ action, events, onSelect, onClose }: Props) {
  const { additional_info: info, creation_time: started, finish_time: finished } = action;
  const related = events.filter(({ action_uid }) => action_uid === action.action_uid);
  return (
    <aside className={classes.panel} aria-label="Action">
      <header>
        <h2>{info?.description || action.name}</h2>
        <ActionIcon variant="subtle" color="gray" aria-label="Close" onClick={onClose}>
          <IconX size={16} />
        </ActionIcon>
      </header>
      {info?.error && <p>{info.error}</p>}
      <Facts
        items={[
          ['State', `${action.status}, ${Math.round(action.progress)}%`],
          ['Started', <Stamp key="started" time={new Date(started * 1000).toISOString()} />],
          ...(finished === undefined ? [] : [['Duration', duration(finished - started)] as const]),
          ['Requested by', action.originator],
          ...(info?.steps ?? []).map(({ name, status }) => [name, status] as const),
        ]}
      />
      {related.length > 0 && (
        <ul className={classes.chain}>
          {related.map((event) => (
            <li key={event.uid}>
              <button type="button" onClick={() => onSelect(String(event.uid))}>
                {event.description}
              </button>
            </li>
          ))}
        </ul>
      )}
    </aside>
  );
}
