/** Running actions with progress, at the bottom of every page; gone when there is nothing to tell. */

import { Button } from '@mantine/core';
import { IconChevronDown, IconChevronUp } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { actionsQuery, cancelAction, isRunning } from '@/api/actions';
import { messageOf } from '@/api/http';
import { ROLE_FORBIDS, useMay } from '@/api/session';
import type { Action } from '@/api/types';
import { plural } from '@/lib/format';
import { Ago } from '@/ui/Ago';
import { Bar } from '@/ui/Bar';
import { StatusIcon } from '@/ui/Status';
import classes from './actions.module.css';
import { actionTitle, actionTone, useRecent } from './recent';

export function ActionsDrawer() {
  const { data } = useQuery(actionsQuery);
  const shown = useRecent(data);
  const [open, setOpen] = useState(false);
  if (!shown.length) return null;
  const running = shown.filter(isRunning);
  const newest = running[0] ?? shown[0];
  const Fold = open ? IconChevronDown : IconChevronUp;
  const title = running.length ? `${plural(running.length, 'action')} running` : 'Finished';

  return (
    <section className={classes.drawer} aria-label="Actions">
      <button
        type="button"
        className={classes.head}
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <Fold size={16} aria-hidden />
        <strong>{title}</strong>
        {!open && newest && <ActionLine action={newest} />}
      </button>
      {open && (
        <ul className={classes.list}>
          {shown.map((action) => (
            <li key={action.action_uid}>
              <div className={classes.row}>
                <ActionLine action={action} />
                {action.additional_info?.cancellable && isRunning(action) && (
                  <CancelAction uid={action.action_uid} />
                )}
              </div>
              <Steps action={action} />
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}

function ActionLine({ action }: { action: Action }) {
  return (
    <span className={classes.line}>
      <StatusIcon tone={actionTone(action)} />
      <span className={classes.title}>{actionTitle(action)}</span>
      <span className={classes.meter}>
        <Bar value={action.progress / 100} label={actionTitle(action)} />
      </span>
      <span className={`num ${classes.percent}`}>{Math.round(action.progress)} %</span>
      <span className="dim">
        <Ago time={action.creation_time * 1000} />
      </span>
    </span>
  );
}

function CancelAction({ uid }: { uid: string }) {
  const [busy, setBusy] = useState(false);
  const [error, setError] = useState<string | null>(null);
  const may = useMay('edit');
  const cancel = async () => {
    setBusy(true);
    setError(null);
    try {
      // The stream tells when it has come to its end.
      await cancelAction(uid);
    } catch (failure) {
      setError(messageOf(failure));
      setBusy(false);
    }
  };
  return (
    <>
      <Button
        size="compact-xs"
        variant="default"
        disabled={!may}
        loading={busy}
        title={may ? undefined : ROLE_FORBIDS}
        onClick={cancel}
      >
        Cancel
      </Button>
      {error && <p className={classes.error}>{error}</p>}
    </>
  );
}

function Steps({ action }: { action: Action }) {
  const { steps, error } = action.additional_info ?? {};
  return (
    <>
      {error && <p className={classes.error}>{error}</p>}
      {steps && steps.length > 0 && (
        <ol className={classes.steps}>
          {steps.map((step) => (
            <li key={step.name} data-status={step.status}>
              {step.name}
            </li>
          ))}
        </ol>
      )}
    </>
  );
}
