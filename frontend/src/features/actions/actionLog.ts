/** Filter and texts of the table of actions. Pure. */
import { isRunning } from '@/api/cluster/actions';
import type { Action } from '@/api/types';
import { plural } from '@/lib/format';
import { actionTitle } from './recentActions';

export interface ActionFilter {
  status?: 'running' | 'failed' | undefined;
  text?: string | undefined;
}

/** Return the matching actions: running ones first, then the newest. */
export function filterActions(
  actions: readonly Action[],
  { status, text }: ActionFilter,
): Action[] {
  const words = (text ?? '').toLowerCase().split(/\s+/).filter(Boolean);
  return actions
    .filter((action) => {
      if (status === 'running' && !isRunning(action)) return false;
      if (status === 'failed' && action.status !== 'failed') return false;
      const haystack = `${actionTitle(action)} ${action.originator}`.toLowerCase();
      return words.every((word) => haystack.includes(word));
    })
    .sort(
      (a, b) => Number(isRunning(b)) - Number(isRunning(a)) || b.creation_time - a.creation_time,
    );
}

/** Return the result of a finished action: the error, or the completed steps. */
export function resultText({ status, progress, additional_info }: Action): string {
  const { error, steps = [] } = additional_info ?? {};
  if (error) return error;
  const done = steps.filter((step) => step.status === 'completed').length;
  if (status === 'completed') return steps.length ? plural(done, 'step') : '';
  return steps.length
    ? `${done} of ${plural(steps.length, 'step')} completed`
    : `Ended at ${Math.round(progress)}%`;
}

/** Share of an action's duration that the timeline shows before and after it. */
const MARGIN = 0.25;
const MIN_MARGIN_S = 30;

/** Return the parameters of the timeline that show an action. A running action is shown live. */
export function timelineSpan({ action_uid, creation_time, finish_time }: Action) {
  const event = `action:${action_uid}`;
  if (finish_time === undefined) return { event };
  const margin = Math.max(MIN_MARGIN_S, (finish_time - creation_time) * MARGIN);
  return {
    event,
    from: Math.floor(creation_time - margin),
    to: Math.ceil(finish_time + margin),
    res: undefined,
  };
}
