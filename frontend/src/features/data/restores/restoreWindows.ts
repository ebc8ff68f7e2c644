/** Moments to which a database can be restored. Pure. */
import type { RestoreWindow } from '@/api/types';
import { plural } from '@/lib/format';
import { formatDateTime, type Zone } from '@/lib/time';

/** A period in which each second can be restored, in epoch milliseconds. */
export interface Period {
  from: number;
  to: number;
}

/** Return the periods without gaps, oldest first. Windows of successive backups touch. */
export function periods(windows: readonly RestoreWindow[]): Period[] {
  const found: Period[] = [];
  for (const { from, to } of windows) {
    const next = { from: Date.parse(from), to: Date.parse(to) };
    const last = found.at(-1);
    // The ends of windows are whole seconds.
    if (last && next.from - last.to <= 1_000) last.to = Math.max(last.to, next.to);
    else if (next.from <= next.to) found.push(next);
  }
  return found;
}

/** A restore window with the gap before it. */
export interface WindowRow extends Period {
  backup_uid: number;
  /** Milliseconds before it that cannot be restored; 0 if the previous window touches it, or if it is the oldest one. */
  gap: number;
}

/** Return the windows of a database with the gaps between them, newest first. */
export function windowRows(windows: readonly RestoreWindow[]): WindowRow[] {
  return windows
    .map(({ from, to, backup_uid }, index) => {
      const start = Date.parse(from);
      const before = windows[index - 1];
      const gap = before ? start - Date.parse(before.to) : 0;
      return { from: start, to: Date.parse(to), backup_uid, gap: gap > 1_000 ? gap : 0 };
    })
    .reverse();
}

/** Return "Any second from … to …" of a period. */
export const periodText = ({ from, to }: Period, zone: Zone): string =>
  `Any second from ${formatDateTime(from, zone)} to ${formatDateTime(to, zone)}`;

/** Return the first and the last moment of periods, and the number of gaps between them. */
export function pointsText(list: readonly Period[], zone: Zone): string {
  const [first, last] = [list[0]?.from ?? 0, list.at(-1)?.to ?? 0];
  const gaps = list.length > 1 ? `, ${plural(list.length - 1, 'gap')}` : '';
  return `${formatDateTime(first, zone)} to ${formatDateTime(last, zone)}${gaps}`;
}

/** Return the position and width of each period in a bar over all of them, in percent. */
export function barParts(list: readonly Period[]): { left: number; width: number }[] {
  const start = list[0]?.from ?? 0;
  const total = Math.max(1, (list.at(-1)?.to ?? 0) - start);
  return list.map(({ from, to }) => ({
    left: (100 * (from - start)) / total,
    // A short period stays visible.
    width: Math.max(0.5, (100 * (to - from)) / total),
  }));
}

/** Return why a moment cannot be restored; undefined if it can. */
export function momentError(
  moment: number | null,
  list: readonly Period[],
  zone: Zone,
): string | undefined {
  if (moment === null || Number.isNaN(moment)) return 'Enter a date and a time';
  if (list.some(({ from, to }) => from <= moment && moment <= to)) return undefined;
  const before = list.findLast(({ to }) => to < moment)?.to;
  const after = list.find(({ from }) => from > moment)?.from;
  const nearest = [before, after].filter((each) => each !== undefined);
  return `Not recorded. Nearest: ${nearest.map((each) => formatDateTime(each, zone)).join(' or ')}`;
}
