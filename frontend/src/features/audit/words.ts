/** What the columns of the audit trail say. */
import type { AuditLine } from '@/api/types';
import type { Tone } from '@/ui/Status';

export const OUTCOMES: Record<AuditLine['outcome'], { tone: Tone; word: string }> = {
  done: { tone: 'ok', word: 'Done' },
  refused: { tone: 'broken', word: 'Refused' },
  failed: { tone: 'attention', word: 'Failed' },
};

const PROOFS: Record<string, string> = {
  password: 'by password',
  session: 'in the browser',
  token: 'by a token of a login',
  'service token': 'by a service token',
  'join token': 'by a join token',
  shell: "in the shell of the console's machine",
};

/** How it was proven who it was. */
export function proofWords(proof: string, username: string): string {
  if (proof) return PROOFS[proof] ?? `by ${proof}`;
  return username === 'system' ? 'the console itself' : 'not proven';
}

/** The request, or the command that was typed on the console's machine. */
export const requestWords = ({ method, path }: AuditLine): string =>
  method ? `${method} ${path}` : path && `shardboard ${path}`;
