/** Values of the form for scheduled backups, and the fields of the database that they change. Pure. */
import type { Bdb, UpdateBdb } from '@/api/types';

/** Fields of a database about scheduled backups. */
export interface BackupFields {
  backup: boolean;
  /** Seconds. */
  backup_interval: number;
  /** Seconds after the start of each interval, which counts from 1970-01-01 00:00 UTC. */
  backup_interval_offset: number;
  backup_schedule: {
    /** Five fields; empty if the interval applies. */
    cron: string;
    time_zone: string;
    window_minutes: number;
    verify: boolean;
    record_changes: boolean;
    /** Seconds of changes in one file. */
    record_segment_seconds: number;
  };
  backup_location_uid: number;
  /** A location without a name, which only API clients set. */
  backup_location: Readonly<Record<string, unknown>>;
  /** Rules; 0 turns a rule off. */
  backup_retention: Readonly<Record<RetentionRule, number>> & { include_manual: boolean };
  /** Same as the rule `count`, with the name of the Redis Enterprise REST API. */
  backup_history: number;
}

export const RETENTION_RULES = [
  { name: 'count', label: 'Newest backups', unit: 'newest' },
  { name: 'days', label: 'Last days', unit: 'days' },
  { name: 'daily', label: 'Daily', unit: 'daily' },
  { name: 'weekly', label: 'Weekly', unit: 'weekly' },
  { name: 'monthly', label: 'Monthly', unit: 'monthly' },
  { name: 'yearly', label: 'Yearly', unit: 'yearly' },
] as const;
export type RetentionRule = (typeof RETENTION_RULES)[number]['name'];

export const NO_RETENTION: BackupFields['backup_retention'] = {
  count: 0,
  days: 0,
  daily: 0,
  weekly: 0,
  monthly: 0,
  yearly: 0,
  include_manual: false,
};

/** Return the fields of a database. Missing fields have their defaults. */
export function backupFields(bdb: Bdb): BackupFields {
  const stored = bdb as Partial<BackupFields>;
  return {
    backup: stored.backup ?? false,
    backup_interval: stored.backup_interval ?? 86_400,
    backup_interval_offset: stored.backup_interval_offset ?? 0,
    backup_schedule: {
      cron: '',
      time_zone: 'UTC',
      window_minutes: 60,
      verify: false,
      record_changes: false,
      record_segment_seconds: 30,
      ...stored.backup_schedule,
    },
    backup_location_uid: stored.backup_location_uid ?? 0,
    backup_location: stored.backup_location ?? {},
    backup_retention: { ...NO_RETENTION, ...stored.backup_retention },
    backup_history: stored.backup_history ?? 0,
  };
}

export const INTERVAL_UNITS = { minutes: 60, hours: 3_600, days: 86_400 } as const;
export type IntervalUnit = keyof typeof INTERVAL_UNITS;

export interface ScheduleValues {
  enabled: boolean;
  /** Uid of the location; empty if none is chosen. */
  location: string;
  kind: 'interval' | 'cron';
  every: number | string;
  unit: IntervalUnit;
  /** Minutes after the start of each interval. */
  offset: number | string;
  cron: string;
  time_zone: string;
  window_minutes: number | string;
  verify: boolean;
  record_changes: boolean;
  record_segment_seconds: number | string;
  retention: Readonly<Record<RetentionRule, number | string>>;
  include_manual: boolean;
}

export function scheduleValues(fields: BackupFields): ScheduleValues {
  const { cron, time_zone, window_minutes, verify, record_changes, record_segment_seconds } =
    fields.backup_schedule;
  const { include_manual, ...rules } = fields.backup_retention;
  const unit = unitOf(fields.backup_interval);
  return {
    enabled: fields.backup,
    location: fields.backup_location_uid ? String(fields.backup_location_uid) : '',
    kind: cron ? 'cron' : 'interval',
    every: fields.backup_interval / INTERVAL_UNITS[unit],
    unit,
    offset: fields.backup_interval_offset / 60,
    cron,
    time_zone,
    window_minutes,
    verify,
    record_changes,
    record_segment_seconds,
    retention: { ...rules, count: rules.count || fields.backup_history },
    include_manual,
  };
}

const unitOf = (seconds: number): IntervalUnit =>
  (['days', 'hours'] as const).find((unit) => seconds % INTERVAL_UNITS[unit] === 0) ?? 'minutes';

type Errors = Partial<
  Record<
    'location' | 'every' | 'offset' | 'cron' | 'window_minutes' | 'record_segment_seconds',
    string
  >
>;

/** Largest number of a retention rule. */
export const MAX_KEPT = 3_660;
const MAX_INTERVAL = 366 * 86_400;
const MAX_WINDOW = 1_440;
export const [MIN_SEGMENT, MAX_SEGMENT] = [5, 600];

/** Return the errors of the fields. The console also checks cron expression and time zone. */
export function scheduleErrors(values: ScheduleValues): Errors {
  if (!values.enabled) return {};
  const errors: Errors = {};
  if (!values.location) errors.location = 'Choose a location';
  const window = Number(values.window_minutes);
  if (!Number.isInteger(window) || window < 1 || window > MAX_WINDOW)
    errors.window_minutes = `Enter a whole number from 1 to ${MAX_WINDOW}`;
  const segment = Number(values.record_segment_seconds);
  if (!Number.isInteger(segment) || segment < MIN_SEGMENT || segment > MAX_SEGMENT)
    errors.record_segment_seconds = `Enter a whole number from ${MIN_SEGMENT} to ${MAX_SEGMENT}`;
  if (values.kind === 'cron') {
    if (values.cron.trim().split(/\s+/).length !== 5)
      errors.cron = 'Enter five fields: minute, hour, day of month, month, day of week';
    return errors;
  }
  const seconds = intervalSeconds(values);
  const offset = Number(values.offset) * 60;
  if (!Number.isInteger(seconds) || seconds < 60 || seconds > MAX_INTERVAL)
    errors.every = 'Enter at least 1 minute and at most 366 days';
  else if (!Number.isInteger(offset) || offset < 0 || offset >= seconds)
    errors.offset = 'Enter a time that is shorter than the interval';
  return errors;
}

const intervalSeconds = ({ every, unit }: ScheduleValues): number =>
  Number(every) * INTERVAL_UNITS[unit];

/** Return the changed fields; undefined if none differs, or while a value is invalid. */
export function scheduleRequest(
  values: ScheduleValues,
  stored: BackupFields,
): UpdateBdb | undefined {
  if (Object.keys(scheduleErrors(values)).length > 0) return undefined;
  const fields = fieldsOf(values, stored);
  const changes = Object.entries(fields).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(stored[name as keyof BackupFields]),
  );
  return changes.length ? (Object.fromEntries(changes) as UpdateBdb) : undefined;
}

function fieldsOf(values: ScheduleValues, stored: BackupFields): BackupFields {
  const isCron = values.kind === 'cron';
  const rule = (name: RetentionRule) => Number(values.retention[name]) || 0;
  return {
    backup: values.enabled,
    backup_interval: isCron ? stored.backup_interval : intervalSeconds(values),
    backup_interval_offset: isCron ? stored.backup_interval_offset : Number(values.offset) * 60,
    backup_schedule: {
      cron: isCron ? values.cron.trim() : '',
      time_zone: values.time_zone,
      window_minutes: Number(values.window_minutes),
      verify: values.verify,
      record_changes: values.record_changes,
      record_segment_seconds: Number(values.record_segment_seconds),
    },
    backup_location_uid: Number(values.location),
    // A chosen location replaces one without a name.
    backup_location: values.location ? {} : stored.backup_location,
    backup_retention: {
      count: rule('count'),
      days: rule('days'),
      daily: rule('daily'),
      weekly: rule('weekly'),
      monthly: rule('monthly'),
      yearly: rule('yearly'),
      include_manual: values.include_manual,
    },
    // The rule `count` replaces it. Two different numbers are rejected.
    backup_history: 0,
  };
}
