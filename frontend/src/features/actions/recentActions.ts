/** Selection of the actions to display: running ones, and recently finished ones for a limited time. */
import { useEffect, useRef, useState } from 'react';
import { isRunning } from '@/api/cluster/actions';
import type { Action } from '@/api/types';
import type { Tone } from '@/ui/Status';

const KEEP_DONE_MS = 8_000;
const KEEP_FAILED_MS = 60_000;

export const actionTitle = (action: Action): string =>
  action.additional_info?.description || action.name;

export function actionTone(action: Action): Tone {
  if (action.status === 'failed') return 'broken';
  if (action.status === 'completed') return 'ok';
  if (action.status === 'cancelled') return 'attention';
  return 'progress';
}

/**
 * Return running actions and those that finished recently. Actions that finished before the page
 * was opened are not included.
 */
export function useRecentActions(actions: readonly Action[] | undefined): Action[] {
  const [finished, setFinished] = useState<ReadonlyMap<string, Action>>(new Map());
  const running = useRef(new Set<string>());

  useEffect(() => {
    for (const action of actions ?? []) {
      const { action_uid: uid } = action;
      if (isRunning(action)) running.current.add(uid);
      else if (running.current.delete(uid)) {
        setFinished((now) => new Map(now).set(uid, action));
        const keepMs = action.status === 'failed' ? KEEP_FAILED_MS : KEEP_DONE_MS;
        setTimeout(() => {
          setFinished((now) => new Map([...now].filter(([key]) => key !== uid)));
        }, keepMs);
      }
    }
  }, [actions]);

  const active = (actions ?? []).filter(isRunning);
  return [...active, ...finished.values()].sort((a, b) => b.creation_time - a.creation_time);
}
