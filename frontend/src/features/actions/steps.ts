/** What is worth saying of a running action. Pure. */
import { isRunning } from '@/api/actions';
import type { Action } from '@/api/types';
import { plural } from '@/lib/format';
import { duration } from '@/lib/time';

export type Step = NonNullable<NonNullable<Action['additional_info']>['steps']>[number];

/** More are counted instead of listed. */
const LISTED = 12;

export const isCancellable = (action: Action): boolean =>
  isRunning(action) && action.additional_info?.cancellable === true;

/** Nothing when nobody knows. */
export function etaText(action: Action): string {
  const eta = action.additional_info?.eta_seconds;
  return typeof eta === 'number' ? `about ${duration(eta)} left` : '';
}

/** All of them, or of many those that run or failed, and how many others there are. */
export function shownSteps(steps: readonly Step[]): { shown: readonly Step[]; left: string } {
  if (steps.length <= LISTED) return { shown: steps, left: '' };
  const shown = steps
    .filter(({ status }) => status === 'running' || status === 'failed')
    .slice(0, LISTED);
  const count = (wanted: string) => steps.filter(({ status }) => status === wanted).length;
  const [done, waiting] = [count('completed'), count('pending')];
  return { shown, left: `${done} of ${plural(steps.length, 'step')} done, ${waiting} waiting` };
}
