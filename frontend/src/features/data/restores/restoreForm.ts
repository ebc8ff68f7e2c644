/** Values of the forms for restores and imports, and the requests that they make. Pure. */
import type { Restore, RestoreRequest } from '@/api/types';

export interface RestoreValues {
  /** Whether a backup or a point in time is restored. */
  point: 'backup' | 'time';
  /** Null: the newest backup, when the list is loaded. */
  backup: number | null;
  /** Point in time in epoch milliseconds. */
  until: number | null;
  /** Uid of the database that receives the keys. */
  target: number;
  mode: Restore['mode'];
  /** Glob patterns, one per line. */
  patterns: string;
  /** Private keys of an encrypted backup, if they are not stored. */
  identities: string;
  /** Ranges of hash slots, such as 0-5460,6000; empty for all. */
  slots: string;
  /** Whether the database may evict keys because they do not fit into its memory. */
  force: boolean;
  /** Whether the files are read completely before keys are deleted. */
  verify: boolean;
  /** Name of the target, entered to confirm that its keys are deleted. */
  confirmation: string;
}

/** Return the patterns of a text with one pattern per line. Spaces can be part of a key, so lines are not trimmed. */
export const patternsOf = (text: string): string[] =>
  text.split(/\r?\n/).filter((line) => line.trim() !== '');

/** Return whether a database with this policy can evict keys of any kind, so that its memory limit can be exceeded. */
export const isEvicting = (policy: string | undefined): boolean =>
  (policy ?? '').startsWith('allkeys-');

const LAST_SLOT = 16_383;

/** Return why the ranges of slots are invalid; undefined if they are valid. */
export function slotsError(text: string): string | undefined {
  const valid = slotsOf(text)
    .split(',')
    .every((part) => {
      const range = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(part);
      if (!range) return part === '' && slotsOf(text) === '';
      const first = Number(range[1]);
      const last = Number(range[2] ?? range[1]);
      return first <= last && last <= LAST_SLOT;
    });
  return valid ? undefined : 'Enter ranges between 0 and 16383, such as 0-5460,6000';
}

/** Return the ranges without spaces. */
const slotsOf = (text: string): string => text.replaceAll(/\s/g, '');

/** Return whether all keys of the target are deleted first, as always to a point in time. The user must confirm this. */
export const isReplacing = ({ mode, point }: Pick<RestoreValues, 'mode' | 'point'>): boolean =>
  mode === 'replace' || point === 'time';

/**
 * Return the request; undefined while neither a backup nor a point in time is chosen, or the confirmation is missing.
 * A point in time is one of the database `source`.
 */
export function restoreRequest(
  values: RestoreValues,
  targetName: string,
  source: number,
): RestoreRequest | undefined {
  const origin = originOf(values, source);
  if (!origin) return undefined;
  if (isReplacing(values) && values.confirmation !== targetName) return undefined;
  if (slotsError(values.slots)) return undefined;
  const patterns = patternsOf(values.patterns);
  const slots = slotsOf(values.slots);
  return {
    ...origin,
    mode: isReplacing(values) ? 'replace' : 'merge',
    ...(values.identities.trim() && { identities: values.identities.trim() }),
    ...(patterns.length && { key_patterns: patterns }),
    ...(slots && { slots }),
    ...(values.force && { force: true }),
    ...(isReplacing(values) && !values.verify && { verify_files: false }),
  };
}

function originOf(
  { point, backup, until }: RestoreValues,
  source: number,
): Pick<RestoreRequest, 'backup_uid' | 'until' | 'source_bdb_uid'> | undefined {
  if (point === 'backup') return backup === null ? undefined : { backup_uid: backup };
  if (until === null || Number.isNaN(until)) return undefined;
  return { until: new Date(until).toISOString(), source_bdb_uid: source };
}
