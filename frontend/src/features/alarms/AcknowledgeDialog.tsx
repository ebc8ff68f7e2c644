/** Dialog that acknowledges an alarm, or changes its acknowledgement. */
import { Autocomplete, NativeSelect, Textarea } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { sessionQuery, usePermission } from '@/api/access/session';
import { usersQuery } from '@/api/access/users';
import { acknowledgeAlarm } from '@/api/alerting/acknowledgements';
import { healthQuery } from '@/api/alerting/health';
import type { LogEvent } from '@/api/types';
import { FormDialog } from '@/ui/forms/FormDialog';
import {
  type AcknowledgementValues,
  EXPIRIES,
  NOTE_MAX,
  toAcknowledgement,
} from './acknowledgementForm';

interface Props {
  alarm: LogEvent;
  /** Text of the alarm. */
  text: string;
  onClose: () => void;
}

export function AcknowledgeDialog({ alarm, text, onClose }: Props) {
  const client = useQueryClient();
  const self = useQuery(sessionQuery).data?.username ?? '';
  const mayListUsers = usePermission('manageUsers');
  const users = useQuery({ ...usersQuery, enabled: mayListUsers }).data;
  const existing = alarm.acknowledgement;
  const [values, setValues] = useState<AcknowledgementValues>({
    note: existing?.note ?? '',
    minutes: '240',
    assignedTo: existing?.assigned_to ?? self,
  });
  const set = (part: Partial<AcknowledgementValues>) => setValues((now) => ({ ...now, ...part }));
  const isTooLong = values.note.trim().length > NOTE_MAX;
  return (
    <FormDialog
      title={existing ? 'Change acknowledgement' : 'Acknowledge alarm'}
      action={existing ? 'Save' : 'Acknowledge'}
      request={toAcknowledgement(values)}
      onSubmit={async (request) => {
        await acknowledgeAlarm(alarm.uid, request);
        await client.invalidateQueries({ queryKey: healthQuery.queryKey });
      }}
      onClose={onClose}
    >
      {(fieldError) => (
        <>
          <span>{text}</span>
          <span className="dim">
            Acknowledged alarms are not counted in the overview. Receivers get the alarm again when
            the acknowledgement expires, and a message when the alarm ends.
          </span>
          <Textarea
            label="Note"
            description="All users who can see the alarm can read it."
            autosize
            minRows={2}
            maxRows={6}
            value={values.note}
            error={isTooLong ? `Use at most ${NOTE_MAX} characters.` : fieldError('note')}
            onChange={(event) => set({ note: event.currentTarget.value })}
            data-autofocus
          />
          <NativeSelect
            label="Expires"
            value={values.minutes}
            error={fieldError('minutes')}
            onChange={(event) => set({ minutes: event.currentTarget.value })}
            data={[...EXPIRIES]}
          />
          <Autocomplete
            label="Assigned to"
            description="Username of the user who takes care of the alarm."
            data={(users ?? []).map(({ email }) => email)}
            value={values.assignedTo}
            error={fieldError('assigned_to')}
            onChange={(assignedTo) => set({ assignedTo })}
          />
        </>
      )}
    </FormDialog>
  );
}
