/** Texts about scheduled backups. Pure. */
import { duration } from '@/lib/time';
import { type BackupFields, RETENTION_RULES } from './scheduleForm';

/** Return when backups start: "Every 1 d, 2 h after midnight UTC" or the cron expression. */
export function scheduleText({
  backup,
  backup_interval,
  backup_interval_offset: offset,
  backup_schedule: { cron, time_zone },
}: BackupFields): string {
  if (!backup) return 'Off';
  if (cron) return `${cron} (${time_zone})`;
  const start = offset ? `, offset by ${duration(offset)}` : '';
  return `Every ${duration(backup_interval)}${start}, UTC`;
}

/** Return which backups are kept: "7 newest, 4 weekly". */
export function retentionText({ backup_retention: rules, backup_history }: BackupFields): string {
  const counts = { ...rules, count: rules.count || backup_history };
  const parts = RETENTION_RULES.filter(({ name }) => counts[name] > 0).map(({ name, unit }) =>
    name === 'days' ? `all of the last ${counts.days} days` : `${counts[name]} ${unit}`,
  );
  if (!parts.length) return 'All backups';
  return `${parts.join(', ')}${rules.include_manual ? '' : ', and all manual ones'}`;
}
