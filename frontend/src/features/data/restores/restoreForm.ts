/** Values of the forms for restores and imports, and the requests that they make. Pure. */
import type { Restore, RestoreRequest } from '@/api/types';

export interface RestoreValues {
  /** Null: the newest backup, when the list is loaded. */
  backup: number | null;
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

/** Return whether the user must confirm by typing the name of the target, because its keys are deleted. */
export const needsConfirmation = ({ mode }: Pick<RestoreValues, 'mode'>): boolean =>
  mode === 'replace';

/** Return the request; undefined while no backup is chosen or the confirmation is missing. */
export function restoreRequest(
  values: RestoreValues,
  targetName: string,
): RestoreRequest | undefined {
  if (values.backup === null) return undefined;
  if (needsConfirmation(values) && values.confirmation !== targetName) return undefined;
  if (slotsError(values.slots)) return undefined;
  const patterns = patternsOf(values.patterns);
  const slots = slotsOf(values.slots);
  return {
    backup_uid: values.backup,
    mode: values.mode,
    ...(values.identities.trim() && { identities: values.identities.trim() }),
    ...(patterns.length && { key_patterns: patterns }),
    ...(slots && { slots }),
    ...(values.force && { force: true }),
    ...(needsConfirmation(values) && !values.verify && { verify_files: false }),
  };
}
