/** Texts, tones and figures of backups. Pure. */
import type { Backup, BackupFile } from '@/api/types';
import { format, plural, UNKNOWN } from '@/lib/format';
import { duration, formatPreciseDuration } from '@/lib/time';
import type { Tone } from '@/ui/Status';

type Status = Backup['status'];

const STATUSES: Record<Status, { tone: Tone; text: string }> = {
  running: { tone: 'progress', text: 'Running' },
  succeeded: { tone: 'ok', text: 'Succeeded' },
  failed: { tone: 'broken', text: 'Failed' },
  cancelled: { tone: 'attention', text: 'Canceled' },
  deleting: { tone: 'progress', text: 'Deleting' },
};

export const STATUS_CHOICES = Object.entries(STATUSES).map(([value, { text }]) => ({
  value: value as Status,
  label: text,
}));

/** Return the status with its progress while the backup is running. */
export function backupStatus({ status, progress }: Pick<Backup, 'status' | 'progress'>): {
  tone: Tone;
  text: string;
} {
  const { tone, text } = STATUSES[status] ?? { tone: 'unknown', text: status };
  return { tone, text: status === 'running' ? `${text}, ${Math.floor(progress)}%` : text };
}

/** Return the duration; of a running backup, up to `now` (epoch milliseconds, console clock). */
export function durationText(
  { created_at, finished_at }: Pick<Backup, 'created_at' | 'finished_at'>,
  now: number,
): string {
  const end = finished_at ? Date.parse(finished_at) : now;
  return formatPreciseDuration((end - Date.parse(created_at)) / 1000);
}

/** Return the stored size and, if it differs, the size of the uncompressed data: "12 MiB (48 MiB raw)". */
export function sizeText({ bytes, raw_bytes: raw }: Pick<Backup, 'bytes' | 'raw_bytes'>): string {
  if (!bytes && !raw) return UNKNOWN;
  return `${format('bytes', bytes)} / ${format('bytes', raw)}`;
}

/** Return how much smaller the stored files are: "4.1×"; undefined if unknown. */
export function compressionText({
  bytes,
  raw_bytes: raw,
}: Pick<Backup, 'bytes' | 'raw_bytes'>): string | undefined {
  return bytes > 0 && raw > 0 ? `${(raw / bytes).toFixed(1)}×` : undefined;
}

export const TRIGGERS: Record<Backup['trigger'], string> = {
  manual: 'Manual',
  schedule: 'Schedule',
};

export const triggerText = ({ kind, trigger }: Pick<Backup, 'kind' | 'trigger'>): string =>
  kind === 'export' ? 'Export' : TRIGGERS[trigger];

/** Return the result of the last verification; null if the backup has not been verified. */
export function verification({ verified }: Pick<Backup, 'verified'>): {
  tone: Tone;
  text: string;
  title: string;
} | null {
  if (!verified) return null;
  const { ok, keys, seconds, detail, method } = verified;
  if (!ok) return { tone: 'broken', text: 'Failed', title: detail };
  if (method === 'checksums') return { tone: 'ok', text: 'Checksums verified', title: detail };
  const title = `Restored ${plural(keys, 'key')} into a temporary database in ${duration(seconds)}. ${detail}`;
  return { tone: 'ok', text: 'Verified', title: title.trim() };
}

/** Return whether a database can be restored from the backup. */
export const isRestorable = ({ status }: Pick<Backup, 'status'>): boolean => status === 'succeeded';

/** Return the backups sorted by time. The list is not sorted, because the stream appends new ones. */
export const newestFirst = (backups: readonly Backup[]): Backup[] =>
  [...backups].sort((a, b) => Date.parse(b.created_at) - Date.parse(a.created_at));

/** Return why the backup cannot be deleted now; undefined if it can. */
export function deleteDeniedReason({ status }: Pick<Backup, 'status'>): string | undefined {
  if (status === 'running') return 'The backup is running. Cancel it first.';
  return status === 'deleting' ? 'The backup is already being deleted.' : undefined;
}

export interface BackupFilter {
  bdb?: number | undefined;
  status?: Status | undefined;
}

export const filterBackups = (
  backups: readonly Backup[] | undefined,
  { bdb, status }: BackupFilter,
): Backup[] | undefined =>
  backups?.filter(
    (backup) =>
      (bdb === undefined || backup.bdb_uid === bdb) &&
      (status === undefined || backup.status === status),
  );

const FILE_STATUSES: Record<BackupFile['status'], { tone: Tone; text: string }> = {
  waiting: { tone: 'unknown', text: 'Waiting' },
  running: { tone: 'progress', text: 'Running' },
  succeeded: { tone: 'ok', text: 'Complete' },
  failed: { tone: 'broken', text: 'Failed' },
};

export function fileStatus({
  status,
  progress,
  is_estimate,
}: Pick<BackupFile, 'status' | 'progress' | 'is_estimate'>): {
  tone: Tone;
  text: string;
} {
  const { tone, text } = FILE_STATUSES[status] ?? { tone: 'unknown', text: status };
  const isKnown = status === 'running' && progress > 0;
  const percent = isKnown ? `, ${is_estimate ? 'about ' : ''}${Math.floor(progress)}%` : '';
  return { tone, text: text + percent };
}

export const slotsText = ({
  first_slot,
  last_slot,
}: Pick<BackupFile, 'first_slot' | 'last_slot'>): string => `${first_slot}–${last_slot}`;

const KEPT: Record<string, string> = {
  count: 'one of the newest',
  days: 'age',
  daily: 'newest of its day',
  weekly: 'newest of its week',
  monthly: 'newest of its month',
  yearly: 'newest of its year',
  newest: 'newest backup',
  manual: 'manual backup',
  unfinished: 'not finished',
  failed: 'failed recently',
  future: 'dated in the future',
  no_rules: 'no retention rule is set',
};

/** Return why the retention keeps the backup; undefined if it has not been decided yet. */
export const keptText = ({ kept_because }: Pick<Backup, 'kept_because'>): string | undefined =>
  kept_because
    .split(/[\s,]+/)
    .filter(Boolean)
    .map((rule) => KEPT[rule] ?? rule)
    .join(', ') || undefined;
