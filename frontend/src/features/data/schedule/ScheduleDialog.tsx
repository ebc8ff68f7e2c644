/** Dialog for the schedule and the retention of backups. */
import {
  Group,
  NativeSelect,
  NumberInput,
  SegmentedControl,
  Switch,
  TextInput,
} from '@mantine/core';
import { useUpdateBdb } from '@/api/databases/bdbs';
import type { BackupLocation, Bdb } from '@/api/types';
import { FieldGroup } from '@/ui/forms/FieldGroup';
import { FormDialog } from '@/ui/forms/FormDialog';
import { type Form, useForm } from '@/ui/forms/useForm';
import classes from '../data.module.css';
import {
  backupFields,
  INTERVAL_UNITS,
  MAX_KEPT,
  MAX_SEGMENT,
  MIN_SEGMENT,
  RETENTION_RULES,
  type ScheduleValues,
  scheduleErrors,
  scheduleRequest,
  scheduleValues,
} from './scheduleForm';

interface Props {
  bdb: Bdb;
  locations: readonly BackupLocation[];
  onClose: () => void;
}

export function ScheduleDialog({ bdb, locations, onClose }: Props) {
  const stored = backupFields(bdb);
  const form = useForm(() => scheduleValues(stored));
  const save = useUpdateBdb(bdb.uid);
  const { enabled } = form.values;
  return (
    <FormDialog
      title={`Schedule backups of ${bdb.name}`}
      size="lg"
      request={scheduleRequest(form.values, stored)}
      onSubmit={(request) => save(request)}
      onClose={onClose}
    >
      <Switch label="Back up on a schedule" {...form.check('enabled')} />
      {enabled && <TimeFields form={form} locations={locations} />}
      {enabled && <RecordingFields form={form} onFlash={bdb.bigstore === true} />}
      {enabled && <RetentionFields form={form} />}
    </FormDialog>
  );
}

interface FieldsProps {
  form: Form<ScheduleValues>;
}

function TimeFields({ form, locations }: FieldsProps & { locations: readonly BackupLocation[] }) {
  const errors = scheduleErrors(form.values);
  return (
    <>
      <NativeSelect
        label="Location"
        required
        error={locations.length ? errors.location : 'No location is configured yet'}
        data={[
          { value: '', label: '' },
          ...locations.map(({ uid, name, is_encrypted }) => ({
            value: String(uid),
            label: is_encrypted ? `${name} (encrypted)` : name,
          })),
        ]}
        {...form.text('location')}
      />
      <SegmentedControl
        aria-label="Type of schedule"
        value={form.values.kind}
        onChange={(kind) => form.set({ kind: kind as ScheduleValues['kind'] })}
        data={[
          { value: 'interval', label: 'Interval' },
          { value: 'cron', label: 'Cron expression' },
        ]}
      />
      {form.values.kind === 'interval' ? (
        <IntervalFields form={form} />
      ) : (
        <CronFields form={form} />
      )}
      <NumberInput
        label="Start window (minutes)"
        description="A backup that cannot start within this time, for example because shards are being moved, is skipped."
        min={1}
        allowDecimal={false}
        error={errors.window_minutes}
        {...form.value('window_minutes')}
      />
      <Switch
        label="Verify each backup"
        description="Restores each scheduled backup into a temporary database and compares the keys. Requires free memory for the database."
        {...form.check('verify')}
      />
    </>
  );
}

function RecordingFields({ form, onFlash }: FieldsProps & { onFlash: boolean }) {
  const errors = scheduleErrors(form.values);
  return (
    <>
      <Switch
        label="Record changes between backups"
        description={
          onFlash
            ? 'Not available for databases on flash.'
            : 'Follows the replication stream of one copy of each shard, so that you can restore any second, not only the moments of backups.'
        }
        disabled={onFlash && !form.values.record_changes}
        {...form.check('record_changes')}
      />
      {form.values.record_changes && (
        <NumberInput
          label="Store changes every (seconds)"
          description="Changes of this time are lost if all nodes are lost. Shorter times write more files."
          min={MIN_SEGMENT}
          max={MAX_SEGMENT}
          allowDecimal={false}
          error={errors.record_segment_seconds}
          {...form.value('record_segment_seconds')}
        />
      )}
    </>
  );
}

function IntervalFields({ form }: FieldsProps) {
  const errors = scheduleErrors(form.values);
  return (
    <>
      <Group align="start" grow>
        <NumberInput label="Every" min={1} error={errors.every} {...form.value('every')} />
        <NativeSelect label="Unit" data={Object.keys(INTERVAL_UNITS)} {...form.text('unit')} />
      </Group>
      <NumberInput
        label="Offset (minutes)"
        description="Intervals start at 00:00 UTC. With an offset of 120, a daily backup starts at 02:00 UTC."
        min={0}
        allowDecimal={false}
        error={errors.offset}
        {...form.value('offset')}
      />
    </>
  );
}

function CronFields({ form }: FieldsProps) {
  const errors = scheduleErrors(form.values);
  return (
    <>
      <TextInput
        label="Cron expression"
        description="Minute, hour, day of month, month, day of week. 30 2 * * 1-5 is 02:30 from Monday to Friday."
        placeholder="30 2 * * *"
        maxLength={100}
        spellCheck={false}
        error={form.values.cron ? errors.cron : undefined}
        {...form.text('cron')}
      />
      <TextInput
        label="Time zone"
        description={`Such as UTC or ${Intl.DateTimeFormat().resolvedOptions().timeZone}; applies to the expression and to the days, weeks, and months below`}
        maxLength={64}
        spellCheck={false}
        {...form.text('time_zone')}
      />
    </>
  );
}

function RetentionFields({ form }: FieldsProps) {
  const { retention } = form.values;
  return (
    <FieldGroup
      legend="Retention"
      help="A backup is kept if one of these rules applies. 0 turns a rule off; without any rule, all backups are kept. The newest backup is always kept."
    >
      <div className={classes.rules}>
        {RETENTION_RULES.map(({ name, label }) => (
          <NumberInput
            key={name}
            label={label}
            min={0}
            max={MAX_KEPT}
            allowDecimal={false}
            value={retention[name]}
            onChange={(value) => form.set({ retention: { ...retention, [name]: value } })}
          />
        ))}
      </div>
      <Switch
        label="Also delete manual backups"
        description="Otherwise, they are kept until you delete them."
        {...form.check('include_manual')}
      />
    </FieldGroup>
  );
}
