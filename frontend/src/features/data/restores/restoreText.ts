/** Texts and tones of restores and imports. Pure. */
import type { Restore } from '@/api/types';
import { format, plural } from '@/lib/format';
import type { Tone } from '@/ui/Status';
import { forecastStatus } from './importReportText';

export function restoreStatus(
  restore: Pick<Restore, 'kind' | 'status' | 'progress' | 'forecast'>,
): { tone: Tone; text: string } {
  if (restore.status === 'running') {
    return { tone: 'progress', text: `Running, ${Math.floor(restore.progress)}%` };
  }
  if (restore.status === 'failed') return { tone: 'broken', text: 'Failed' };
  if (restore.status === 'cancelled') return { tone: 'attention', text: 'Canceled' };
  if (restore.kind === 'inspection') return forecastStatus(restore.forecast);
  if (restore.status === 'succeeded_with_losses')
    return { tone: 'attention', text: 'Succeeded with losses' };
  return { tone: 'ok', text: 'Succeeded' };
}

export const unsupportedCount = ({ unsupported }: Pick<Restore, 'unsupported'>): number =>
  Object.values(unsupported).reduce((sum, count) => sum + count, 0);

/** Return the result in words: "12 k keys restored, 3 expired". Zero counts are omitted. */
export function resultText(
  restore: Pick<
    Restore,
    'kind' | 'expected_keys' | 'restored' | 'expired' | 'skipped' | 'unsupported'
  >,
): string {
  if (restore.kind === 'inspection') return plural(restore.expected_keys ?? 0, 'key');
  const others = (
    [
      [restore.expired, 'expired'],
      [restore.skipped, 'skipped'],
      [unsupportedCount(restore), 'unsupported'],
    ] as const
  )
    .filter(([count]) => count > 0)
    .map(([count, label]) => `${format('count', count)} ${label}`);
  const restored = `${format('count', restore.restored)} ${restore.restored === 1 ? 'key' : 'keys'} restored`;
  return [restored, ...others].join(', ');
}

/** Return the result of the comparison with the manifest; undefined if nothing was compared. */
export function comparisonText({
  mismatched_slots: mismatched,
}: Pick<Restore, 'mismatched_slots'>): string | undefined {
  if (mismatched === null) return undefined;
  return mismatched === 0
    ? 'All keys match the backup'
    : `The keys of ${plural(mismatched, 'hash slot')} differ from the backup`;
}

/** Return what happened to the previous keys of the database. */
export function previousDataText({
  kind,
  mode,
  erased,
}: Pick<Restore, 'kind' | 'mode' | 'erased'>): string {
  if (kind === 'inspection') return 'Kept';
  if (mode === 'merge') return 'Kept, except for keys with the same name';
  return erased ? 'Deleted' : 'Not deleted yet';
}
