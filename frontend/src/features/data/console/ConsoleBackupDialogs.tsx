/** Dialogs of backups of the console. */
import { NativeSelect, NumberInput, Switch, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import {
  backUpConsole,
  consoleBackupScheduleQuery,
  consoleBackupsQuery,
  scheduleConsoleBackups,
  unscheduleConsoleBackups,
} from '@/api/cluster/consoleBackups';
import { locationsQuery } from '@/api/data/locations';
import type { BackupLocation, ConsoleBackupSchedule } from '@/api/types';
import { useInvalidateAfter } from '@/api/useInvalidateAfter';
import { FormDialog } from '@/ui/forms/FormDialog';
import { useForm } from '@/ui/forms/useForm';
import { scheduleErrors, scheduleRequest, scheduleValues } from './consoleSchedule';

export function BackUpConsole({ onClose }: { onClose: () => void }) {
  const { data: locations } = useQuery(locationsQuery);
  const [chosen, setChosen] = useState<number>();
  const invalidateAfter = useInvalidateAfter(consoleBackupsQuery);
  const location = locations?.find(({ uid }) => uid === chosen) ?? locations?.[0];
  return (
    <FormDialog
      title="Back up the console"
      action="Back up console"
      request={location?.uid}
      onSubmit={(uid) => invalidateAfter(backUpConsole(uid))}
      onClose={onClose}
    >
      {locations?.length === 0 ? (
        <span>No location is configured yet. Add one in the table Locations below.</span>
      ) : (
        <NativeSelect
          label="Location"
          data-autofocus
          value={String(location?.uid ?? '')}
          onChange={(event) => setChosen(Number(event.currentTarget.value))}
          data={choices(locations ?? [])}
        />
      )}
      {location && <KeyHint location={location} />}
    </FormDialog>
  );
}

interface ScheduleProps {
  /** Null if backups are not scheduled. */
  stored: ConsoleBackupSchedule | null;
  onClose: () => void;
}

export function ScheduleConsoleBackups({ stored, onClose }: ScheduleProps) {
  const { data: locations = [] } = useQuery(locationsQuery);
  const invalidateAfter = useInvalidateAfter(consoleBackupScheduleQuery);
  const form = useForm(() => scheduleValues(stored));
  const errors = scheduleErrors(form.values);
  const location = locations.find(({ uid }) => String(uid) === form.values.location);
  return (
    <FormDialog
      title="Schedule backups of the console"
      request={scheduleRequest(form.values, stored)}
      onSubmit={(request) =>
        invalidateAfter(
          request.settings ? scheduleConsoleBackups(request.settings) : unscheduleConsoleBackups(),
        )
      }
      onClose={onClose}
    >
      <Switch label="Back up on a schedule" {...form.check('enabled')} />
      {form.values.enabled && (
        <>
          <NativeSelect
            label="Location"
            required
            error={locations.length ? undefined : 'No location is configured yet'}
            data={[{ value: '', label: '' }, ...choices(locations)]}
            {...form.text('location')}
          />
          {location && <KeyHint location={location} />}
          <TextInput
            label="Cron expression"
            description="Minute, hour, day of month, month, day of week. 30 2 * * * is 02:30 every day."
            maxLength={100}
            spellCheck={false}
            error={errors.cron}
            {...form.text('cron')}
          />
          <TextInput
            label="Time zone"
            description={`Such as UTC or ${Intl.DateTimeFormat().resolvedOptions().timeZone}`}
            maxLength={64}
            spellCheck={false}
            {...form.text('time_zone')}
          />
          <NumberInput
            label="Scheduled backups to keep"
            description="Older ones are deleted. Manual backups are kept until you delete them."
            min={1}
            allowDecimal={false}
            error={errors.keep}
            {...form.value('keep')}
          />
        </>
      )}
    </FormDialog>
  );
}

function KeyHint({ location }: { location: BackupLocation }) {
  return (
    <span className="dim">
      {location.is_encrypted
        ? 'The public keys of the location encrypt the backup, which contains the store key. A restore requires a private key of the location.'
        : 'The store key encrypts the backup. A restore requires the store key: keep a copy of it on another machine.'}
    </span>
  );
}

const choices = (locations: readonly BackupLocation[]) =>
  locations.map(({ uid, name, is_encrypted }) => ({
    value: String(uid),
    label: is_encrypted ? `${name} (encrypted)` : name,
  }));
