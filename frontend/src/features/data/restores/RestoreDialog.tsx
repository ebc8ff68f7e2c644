/** Dialog that restores a backup, or a point in time, into its database or another one. */
import {
  Checkbox,
  NativeSelect,
  Radio,
  SegmentedControl,
  Stack,
  Textarea,
  TextInput,
} from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { backupsQuery } from '@/api/data/backups';
import { restoresQuery, restoreWindowsQuery, startRestore } from '@/api/data/restores';
import { keptBdbsQuery } from '@/api/databases/bdbs';
import type { Backup, Restore } from '@/api/types';
import { useInvalidateAfter } from '@/api/useInvalidateAfter';
import { format } from '@/lib/format';
import { formatDateTime } from '@/lib/time';
import { ConfirmationField } from '@/ui/forms/ConfirmByTyping';
import { FormDialog } from '@/ui/forms/FormDialog';
import { PemField } from '@/ui/forms/PemField';
import { type Form, useForm } from '@/ui/forms/useForm';
import { useZone } from '@/ui/useZone';
import { isRestorable, newestFirst } from '../backups/backupText';
import {
  isEvicting,
  isReplacing,
  type RestoreValues,
  restoreRequest,
  slotsError,
} from './restoreForm';
import { momentError, type Period, periods } from './restoreWindows';
import { TimeField } from './TimeField';

interface Props {
  /** Uid of the initially selected backup; undefined for the newest one of the target. */
  backup?: number;
  /** Uid of the database whose points in time are offered, and which is selected initially. It can be deleted. */
  target: number;
  /** Initially selected point in time in epoch milliseconds; undefined to restore a backup. */
  until?: number;
  onClose: () => void;
}

export function RestoreDialog({ backup, target, until, onClose }: Props) {
  const backups = newestFirst(useQuery(backupsQuery).data?.filter(isRestorable) ?? []);
  const bdbs = useQuery(keptBdbsQuery).data ?? [];
  const newest = backups.find(({ bdb_uid }) => bdb_uid === target) ?? backups[0];
  const windows = periods(useQuery(restoreWindowsQuery(target)).data ?? []);
  const zone = useZone();
  const form = useForm<RestoreValues>({
    point: until === undefined ? 'backup' : 'time',
    until: until ?? null,
    backup: backup ?? null,
    target,
    mode: 'replace',
    patterns: '',
    identities: '',
    slots: '',
    force: false,
    verify: true,
    confirmation: '',
  });
  const bdb = bdbs.find(({ uid }) => uid === form.values.target);
  const invalidateAfter = useInvalidateAfter(restoresQuery);
  const values = { ...form.values, backup: form.values.backup ?? newest?.uid ?? null };
  const chosen = backups.find(({ uid }) => uid === values.backup);
  const isTime = values.point === 'time';
  const replaces = isReplacing(values);
  const isInvalid = isTime && momentError(values.until, windows, zone) !== undefined;
  return (
    <FormDialog
      title={isTime ? 'Restore to a point in time' : 'Restore a backup'}
      action={replaces ? 'Erase and restore' : 'Restore'}
      severe={replaces}
      size="lg"
      request={bdb && !isInvalid ? restoreRequest(values, bdb.name, target) : undefined}
      onSubmit={(request) => invalidateAfter(startRestore(form.values.target, request))}
      onClose={onClose}
    >
      {(fieldError) => (
        <>
          {windows.length > 0 && <PointField form={form} windows={windows} />}
          {isTime ? (
            <TimeField
              value={values.until}
              windows={windows}
              onChange={(moment) => form.set({ until: moment })}
            />
          ) : (
            <BackupField form={form} backups={backups} chosen={values.backup} />
          )}
          {chosen?.is_encrypted && (
            <PemField
              label="Private key"
              description="This backup is encrypted. If empty, the private keys of the locations are used. The key is deleted when the restore ends."
              error={fieldError('identities')}
              {...form.value('identities')}
            />
          )}
          <NativeSelect
            label="Into database"
            description="Its number of shards and its memory type can differ from those of the backup."
            value={String(form.values.target)}
            onChange={(event) =>
              form.set({
                target: Number(event.currentTarget.value),
                force: false,
                confirmation: '',
              })
            }
            data={[
              ...(bdb ? [] : [{ value: String(target), label: 'Choose a database' }]),
              ...bdbs.map(({ uid, name }) => ({ value: String(uid), label: name })),
            ]}
          />
          {!isTime && <ModeField form={form} />}
          <Textarea
            label="Key patterns"
            description="One glob pattern per line, such as user:*. If empty, all keys are restored."
            autosize
            minRows={2}
            maxRows={6}
            spellCheck={false}
            {...form.text('patterns')}
          />
          <TextInput
            label="Hash slots"
            description="Ranges, such as 0-5460,6000. If empty, the keys of all slots are restored."
            spellCheck={false}
            error={slotsError(form.values.slots)}
            {...form.text('slots')}
          />
          {isEvicting(bdb?.eviction_policy) && (
            <Checkbox
              label="Restore even if the keys do not fit into memory"
              description="The database then evicts keys."
              {...form.check('force')}
            />
          )}
          {(chosen || isTime) && bdb && replaces && (
            <>
              <Checkbox
                label="Read all files completely before keys are deleted"
                description={`A damaged file then costs no keys. ${chosen && !isTime ? `The nodes read ${format('bytes', chosen.bytes)} twice.` : 'The nodes read all files twice.'}`}
                {...form.check('verify')}
              />
              <span>{eraseWarning(isTime ? undefined : chosen, bdb.name, values)}</span>
              <ConfirmationField phrase={bdb.name} {...form.value('confirmation')} />
            </>
          )}
        </>
      )}
    </FormDialog>
  );
}

interface FieldProps {
  form: Form<RestoreValues>;
}

function PointField({ form, windows }: FieldProps & { windows: readonly Period[] }) {
  return (
    <SegmentedControl
      aria-label="What is restored"
      value={form.values.point}
      onChange={(point) =>
        form.set({
          point: point as RestoreValues['point'],
          until: form.values.until ?? windows.at(-1)?.to ?? null,
        })
      }
      data={[
        { value: 'backup', label: 'Backup' },
        { value: 'time', label: 'Point in time' },
      ]}
    />
  );
}

function BackupField({
  form,
  backups,
  chosen,
}: FieldProps & { backups: readonly Backup[]; chosen: number | null }) {
  const zone = useZone();
  const label = ({ bdb_name, created_at, keys, bytes }: Backup) =>
    `${bdb_name}, ${formatDateTime(Date.parse(created_at), zone)} (${format('count', keys)} keys, ${format('bytes', bytes)})`;
  return (
    <NativeSelect
      label="Backup"
      value={String(chosen ?? '')}
      onChange={(event) => form.set({ backup: Number(event.currentTarget.value) })}
      data={backups.map((backup) => ({ value: String(backup.uid), label: label(backup) }))}
    />
  );
}

function ModeField({ form }: FieldProps) {
  return (
    <Radio.Group
      label="Existing keys"
      value={form.values.mode}
      onChange={(mode) => form.set({ mode: mode as Restore['mode'] })}
    >
      <Stack gap={6} mt={6}>
        <Radio
          value="replace"
          label="Replace: delete all keys first"
          description="The database contains only the restored keys afterwards."
        />
        <Radio
          value="merge"
          label="Merge: keep other keys"
          description="Keys of the backup overwrite keys with the same name."
        />
      </Stack>
    </Radio.Group>
  );
}

function eraseWarning(
  backup: Backup | undefined,
  name: string,
  { patterns, slots }: Pick<RestoreValues, 'patterns' | 'slots'>,
): string {
  const all = backup ? `${format('count', backup.keys)} keys` : 'the keys of the selected time';
  const keys = patterns.trim() || slots.trim() ? 'the matching keys' : all;
  return `All keys of ${name} are deleted. Then ${keys} are restored. This cannot be undone.`;
}
