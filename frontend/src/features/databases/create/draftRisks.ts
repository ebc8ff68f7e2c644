/** Risks of the database that a draft creates, the most serious first. Pure functions. */
import { type CreateDraft, memoryBytes } from './createDraft';

export function draftRisks(draft: CreateDraft, nameTaken: boolean): string[] {
  return [
    lossRisk(draft),
    draft.password
      ? null
      : 'No password: anyone who can reach the port can read and delete the data.',
    memoryBytes(draft) > 0 ? evictionRisk(draft.eviction_policy) : null,
    nameTaken ? 'Another database has the same name.' : null,
  ].filter((risk) => risk !== null);
}

function lossRisk({ replication, durability }: CreateDraft): string | null {
  const persistent = durability !== 'none';
  if (replication && persistent) return null;
  if (replication)
    return 'No persistence: the data is lost if a primary and its replica stop at the same time.';
  if (persistent)
    return 'No replicas: if a node fails, its data is unavailable until the node returns.';
  return 'No replicas and no persistence: if a node fails, its data is lost.';
}

function evictionRisk(policy: CreateDraft['eviction_policy']): string | null {
  if (policy === 'noeviction') return 'No eviction: writes fail when memory is full.';
  if (policy.startsWith('volatile-'))
    return `The eviction policy ${policy} evicts only keys with an expiry. If no key has one, writes fail when memory is full.`;
  return null;
}
