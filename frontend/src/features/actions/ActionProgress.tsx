/** Progress of an action: percentage, steps, remaining time, and a button to cancel it if possible. */
import { useState } from 'react';
import { ROLE_DENIED_TEXT, usePermission } from '@/api/access/session';
import { cancelAction, isDrill, isRunning } from '@/api/cluster/actions';
import type { Action } from '@/api/types';
import { Ago } from '@/ui/Ago';
import { Bar } from '@/ui/Bar';
import { SubmitButton } from '@/ui/forms/SubmitButton';
import { useSubmit } from '@/ui/forms/useSubmit';
import { StatusIcon } from '@/ui/Status';
import classes from './actions.module.css';
import { actionTitle, actionTone } from './recentActions';
import { etaText, isCancellable, listedSteps } from './steps';

/** Progress of an action with its steps. */
export function ActionProgress({ action }: { action: Action }) {
  return (
    <>
      <div className={classes.row}>
        <ActionLine action={action} />
        <CancelAction action={action} />
      </div>
      <Steps action={action} />
    </>
  );
}

export function ActionLine({ action }: { action: Action }) {
  return (
    <span className={classes.line}>
      <StatusIcon tone={actionTone(action)} />
      <span className={classes.title}>{actionTitle(action)}</span>
      <span className={classes.meter}>
        <Bar value={action.progress / 100} label={actionTitle(action)} />
      </span>
      <span className={`num ${classes.percent}`}>{Math.round(action.progress)}%</span>
      <span className={`num dim ${classes.eta}`}>
        {isRunning(action) ? etaText(action) : action.status}
      </span>
      <span className="dim">
        <Ago time={action.creation_time * 1000} />
      </span>
    </span>
  );
}

/** Button that cancels an action, or ends a drill; nothing if that is not possible. */
export function CancelAction({ action }: { action: Action }) {
  const [requested, setRequested] = useState(false);
  const isNodeAction = action.additional_info?.object_type === 'node';
  const may = usePermission(
    isNodeAction && !action.name.startsWith('SMMigrate') ? 'administer' : 'edit',
  );
  const cancel = useSubmit(async () => {
    await cancelAction(action.action_uid);
    setRequested(true); // the event stream reports when the action has ended
  });
  if (!isCancellable(action) && !(requested && isRunning(action))) return null;
  const effect = isDrill(action)
    ? 'The fault is removed now'
    : 'Steps that have started are undone or completed';
  return (
    <>
      <SubmitButton
        size="compact-xs"
        variant="default"
        disabled={!may}
        loading={requested || cancel.busy}
        title={may ? effect : ROLE_DENIED_TEXT}
        onClick={cancel.submit}
      >
        {isDrill(action) ? 'End now' : 'Cancel'}
      </SubmitButton>
      {cancel.failure && (
        <p className={classes.error} role="alert">
          {cancel.failure.text}
        </p>
      )}
    </>
  );
}

function Steps({ action }: { action: Action }) {
  const { steps, error } = action.additional_info ?? {};
  const { listed, summary } = listedSteps(steps ?? []);
  return (
    <>
      {error && <p className={classes.error}>{error}</p>}
      {listed.length > 0 && (
        <ol className={classes.steps}>
          {listed.map(({ name, status, detail }) => (
            <li key={name} data-status={status}>
              <span className="sr-only">{status}: </span>
              {detail ? `${name}: ${detail}` : name}
            </li>
          ))}
          {summary && <li>{summary}</li>}
        </ol>
      )}
    </>
  );
}
