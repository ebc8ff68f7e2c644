/** Values of the forms for restores and imports, and the requests that they make. Pure. */
import type { Restore, RestoreRequest } from '@/api/types';

export interface RestoreValues {
  backup: number | null;
  /** Uid of the database that receives the keys. */
  target: number;
  mode: Restore['mode'];
  /** Glob patterns, one per line. */
  patterns: string;
  /** Private keys of an encrypted backup, if they are not stored. */
  identities: string;
  /** Name of the target, entered to confirm that its keys are deleted. */
  confirmation: string;
}

/** Return the patterns of a text with one pattern per line. Spaces can be part of a key, so lines are not trimmed. */
export const patternsOf = (text: string): string[] =>
  text.split(/\r?\n/).filter((line) => line.trim() !== '');

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
  const patterns = patternsOf(values.patterns);
  return {
    backup_uid: values.backup,
    mode: values.mode,
    ...(values.identities.trim() && { identities: values.identities.trim() }),
    ...(patterns.length && { key_patterns: patterns }),
  };
}
