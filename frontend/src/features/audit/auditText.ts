/** Texts for the columns of the audit log. */
import type { AuditLine } from '@/api/types';
import type { Tone } from '@/ui/Status';

export const OUTCOMES: Record<AuditLine['outcome'], { tone: Tone; label: string }> = {
  done: { tone: 'ok', label: 'Done' },
  refused: { tone: 'broken', label: 'Rejected' },
  failed: { tone: 'attention', label: 'Failed' },
};

const PROOFS: Record<string, string> = {
  password: 'with password',
  session: 'with browser session',
  token: 'with access token',
  'service token': 'with service token',
  'join token': 'with join token',
  shell: "on the console's machine",
};

/** Return how the user was authenticated. */
export function authenticationText(proof: string, username: string): string {
  if (proof) return PROOFS[proof] ?? `with ${proof}`;
  return username === 'system' ? 'console' : 'not authenticated';
}

/** Return the request, or the command that was run on the console's machine. */
export const requestText = ({ method, path }: AuditLine): string =>
  method ? `${method} ${path}` : path && `shardboard ${path}`;
