/** Rows of the tables about the growth since the previous backup. Pure. */
import type { BackupGrowth } from '@/api/types';
import { format } from '@/lib/format';

export type GrowthRow = BackupGrowth['types'][number];

export interface GrowthPart {
  title: string;
  /** Header of the first column. */
  header: string;
  rows: GrowthRow[];
}

/** Return a difference with its sign. */
export function changeText(kind: 'bytes' | 'count', now: number, before: number): string {
  if (now === before) return 'No change';
  return `${now > before ? '+' : '\u2212'}${format(kind, Math.abs(now - before))}`;
}

/** Return the tables that have rows with changes. */
export function growthParts({ types, prefixes }: BackupGrowth): GrowthPart[] {
  const named = prefixes.map((row) => ({ ...row, name: row.name || 'Keys without a colon' }));
  return [
    { title: 'Growth by type', header: 'Type', rows: types.filter(hasChanged) },
    { title: 'Growth by prefix', header: 'Prefix', rows: named.filter(hasChanged) },
  ].filter(({ rows }) => rows.length > 0);
}

const hasChanged = ({ keys, bytes, previous_keys, previous_bytes }: GrowthRow): boolean =>
  keys !== previous_keys || bytes !== previous_bytes;
