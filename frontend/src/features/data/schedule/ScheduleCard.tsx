/** Schedule and retention of the backups of a database, with a dialog to change them. */
import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import { schedulesQuery } from '@/api/data/backups';
import { locationsQuery } from '@/api/data/locations';
import type { BackupScheduleState, Bdb } from '@/api/types';
import { Stamp } from '@/ui/Ago';
import { Card } from '@/ui/Card';
import { type Fact, Facts } from '@/ui/Facts';
import { ScheduleDialog } from './ScheduleDialog';
import { type BackupFields, backupFields } from './scheduleForm';
import { retentionText, scheduleText } from './scheduleText';

export function ScheduleCard({ bdb }: { bdb: Bdb }) {
  const [editing, setEditing] = useState(false);
  const { data: locations } = useQuery(locationsQuery);
  const state = useQuery(schedulesQuery).data?.find(({ bdb_uid }) => bdb_uid === bdb.uid);
  const may = usePermission('edit');
  const fields = backupFields(bdb);
  const location = locations?.find(({ uid }) => uid === fields.backup_location_uid)?.name;
  const hasInlineLocation = Object.keys(fields.backup_location).length > 0;
  return (
    <Card
      title="Schedule"
      headerEnd={
        <Button
          variant="default"
          disabled={!may || bdb.status !== 'active'}
          title={may ? undefined : ROLE_DENIED_TEXT}
          onClick={() => setEditing(true)}
        >
          Edit schedule
        </Button>
      }
    >
      <Facts
        items={[
          ['Backups', scheduleText(fields)],
          ...(fields.backup ? nextFacts(state) : []),
          ['Location', location ?? (hasInlineLocation ? 'Set with the API' : 'None')],
          ['Kept', retentionText(fields)],
          ['Verify each backup', fields.backup_schedule.verify ? 'On' : 'Off'],
          ['Changes between backups', recordingFact(fields, state)],
        ]}
      />
      {editing && (
        <ScheduleDialog bdb={bdb} locations={locations ?? []} onClose={() => setEditing(false)} />
      )}
    </Card>
  );
}

function recordingFact(
  { backup, backup_schedule }: BackupFields,
  state: BackupScheduleState | undefined,
): Fact[1] {
  if (!backup || !backup_schedule.record_changes) return 'Not recorded';
  if (state?.not_recorded) return `Not recorded now: ${state.not_recorded}`;
  if (!state?.recorded_until) return 'The recording starts';
  return (
    <>
      Recorded until <Stamp time={state.recorded_until} />
    </>
  );
}

const nextFacts = (state: BackupScheduleState | undefined): Fact[] => [
  ['Next backup', state?.next_at && <Stamp key="next" time={state.next_at} />],
  ...(state?.retry_at
    ? [['Retry of the last backup', <Stamp key="retry" time={state.retry_at} />] satisfies Fact]
    : []),
  ...(state?.waiting_for ? [['Waiting for', state.waiting_for] satisfies Fact] : []),
];
