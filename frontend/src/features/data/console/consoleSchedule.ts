/** Values of the form for scheduled backups of the console. Pure. */
import type { ConsoleBackupSchedule, ConsoleBackupSettings } from '@/api/types';

export interface ScheduleValues {
  enabled: boolean;
  /** Uid of the location; empty if none is chosen. */
  location: string;
  cron: string;
  time_zone: string;
  keep: number | string;
}

const MAX_KEPT = 1000;

export const scheduleValues = (stored: ConsoleBackupSchedule | null): ScheduleValues => ({
  enabled: stored !== null,
  location: stored ? String(stored.location_uid) : '',
  cron: stored?.cron ?? '30 2 * * *',
  time_zone: stored?.time_zone ?? 'UTC',
  keep: stored?.keep ?? 30,
});

/** Return the errors of the fields. The console also checks cron expression and time zone. */
export function scheduleErrors({ enabled, cron, keep }: ScheduleValues): {
  cron?: string;
  keep?: string;
} {
  if (!enabled) return {};
  const number = Number(keep);
  return {
    ...(cron.trim().split(/\s+/).length === 5
      ? {}
      : { cron: 'Enter five fields: minute, hour, day of month, month, day of week' }),
    ...(Number.isInteger(number) && number >= 1 && number <= MAX_KEPT
      ? {}
      : { keep: `Enter a whole number from 1 to ${MAX_KEPT}` }),
  };
}

/** Return the new settings, or none to end the schedule; undefined if nothing differs, or while a value is invalid. */
export function scheduleRequest(
  values: ScheduleValues,
  stored: ConsoleBackupSchedule | null,
): { settings?: ConsoleBackupSettings } | undefined {
  if (!values.enabled) return stored ? {} : undefined;
  if (!values.location || Object.keys(scheduleErrors(values)).length > 0) return undefined;
  const settings = {
    location_uid: Number(values.location),
    cron: values.cron.trim().split(/\s+/).join(' '),
    time_zone: values.time_zone.trim(),
    keep: Number(values.keep),
  };
  const isChanged = Object.entries(settings).some(
    ([name, value]) => stored?.[name as keyof typeof settings] !== value,
  );
  return isChanged ? { settings } : undefined;
}
