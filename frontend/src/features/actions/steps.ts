/** Texts and steps of running actions. Pure. */
import { isRunning } from '@/api/cluster/actions';
import type { Action } from '@/api/types';
import { plural } from '@/lib/format';
import { duration } from '@/lib/time';

export type Step = NonNullable<NonNullable<Action['additional_info']>['steps']>[number];

/** Maximum number of steps that are listed. */
const MAX_LISTED = 12;

export const isCancellable = (action: Action): boolean =>
  isRunning(action) && action.additional_info?.cancellable === true;

/** Return the remaining time as text; empty if unknown. */
export function etaText(action: Action): string {
  const eta = action.additional_info?.eta_seconds;
  return typeof eta === 'number' ? `about ${duration(eta)} remaining` : '';
}

/** Return all steps, or, if there are many, running and failed ones with a summary of all steps. */
export function listedSteps(steps: readonly Step[]): { listed: readonly Step[]; summary: string } {
  if (steps.length <= MAX_LISTED) return { listed: steps, summary: '' };
  const listed = steps
    .filter(({ status }) => status === 'running' || status === 'failed')
    .slice(0, MAX_LISTED);
  const count = (expected: string) => steps.filter(({ status }) => status === expected).length;
  const [done, pendingCount] = [count('completed'), count('pending')];
  return {
    listed,
    summary: `${done} of ${plural(steps.length, 'step')} completed, ${pendingCount} pending`,
  };
}
