/** Moments to which a database can be restored. Pure. */
import type { RestoreWindow } from '@/api/types';
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

/** Return "Any second from … to …" of a period. */
export const periodText = ({ from, to }: Period, zone: Zone): string =>
  `Any second from ${formatDateTime(from, zone)} to ${formatDateTime(to, zone)}`;

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
