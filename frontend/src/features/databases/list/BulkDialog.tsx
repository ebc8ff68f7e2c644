/** Dialog that submits one action for several databases. It shows each result, and continues if a request is rejected. */
import { Button, Group, Modal, Stack } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { messageOf } from '@/api/http';
import type { Bdb } from '@/api/types';
import { plural } from '@/lib/format';
import { ConfirmationField } from '@/ui/forms/ConfirmByTyping';
import { SubmitButton } from '@/ui/forms/SubmitButton';
import { Status } from '@/ui/Status';
import classes from '../databases.module.css';
import type { BulkAction } from './bulkActions';

type Outcome = 'submitted' | { rejected: string };

interface Props {
  action: BulkAction;
  /** Selected databases. The state of some may not allow the action. */
  chosen: readonly Bdb[];
  onClose: () => void;
}

export function BulkDialog({ action, chosen, onClose }: Props) {
  // Fixed when the dialog opens, so that the list does not change while the user reads it.
  const [included] = useState(() => chosen.filter(action.isApplicable));
  const [excluded] = useState(() => chosen.filter((bdb) => !action.isApplicable(bdb)));
  const [typed, setTyped] = useState('');
  const [phase, setPhase] = useState<'confirming' | 'submitting' | 'done'>('confirming');
  const [outcomes, setOutcomes] = useState<ReadonlyMap<number, Outcome>>(new Map());
  const count = plural(included.length, 'database').replace('\u00a0', ' ');
  const ready = included.length > 0 && (!action.confirmByTyping || typed === count);
  const rejected = [...outcomes.values()].filter((outcome) => outcome !== 'submitted').length;

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!ready || phase !== 'confirming') return;
    setPhase('submitting');
    for (const bdb of included) {
      const outcome = await submitFor(action, bdb);
      setOutcomes((now) => new Map(now).set(bdb.uid, outcome));
    }
    setPhase('done');
  };

  return (
    <Modal
      opened
      onClose={onClose}
      title={`${action.label}: ${count}`}
      centered
      closeOnClickOutside={phase !== 'submitting'}
    >
      <form onSubmit={submit}>
        <Stack gap="sm">
          <span>{action.warning}</span>
          <ul className={classes.bulk} aria-live="polite">
            {included.map((bdb) => (
              <li key={bdb.uid}>
                <span>{bdb.name}</span>
                <OutcomeText outcome={outcomes.get(bdb.uid)} isRunning={phase === 'submitting'} />
              </li>
            ))}
          </ul>
          {excluded.length > 0 && (
            <span className="dim">
              Skipped because of their state: {excluded.map(({ name }) => name).join(', ')}
            </span>
          )}
          {action.confirmByTyping && phase === 'confirming' && included.length > 0 && (
            <ConfirmationField phrase={count} value={typed} onChange={setTyped} />
          )}
          {phase === 'done' && (
            <span role="status">
              {rejected
                ? `${rejected} of ${included.length} requests rejected; the others were submitted.`
                : 'All requests submitted. Track progress in the drawer below.'}
            </span>
          )}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose} disabled={phase === 'submitting'}>
              {phase === 'done' ? 'Done' : 'Cancel'}
            </Button>
            {phase !== 'done' && (
              <SubmitButton
                type="submit"
                disabled={!ready}
                loading={phase === 'submitting'}
                {...(action.confirmByTyping ? { color: 'red.9' } : {})}
              >
                {action.label}
              </SubmitButton>
            )}
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

async function submitFor(action: BulkAction, bdb: Bdb): Promise<Outcome> {
  try {
    await action.submit(bdb);
    return 'submitted';
  } catch (error) {
    return { rejected: messageOf(error) };
  }
}

function OutcomeText({ outcome, isRunning }: { outcome: Outcome | undefined; isRunning: boolean }) {
  if (outcome === undefined) return isRunning ? <span className="dim">Waiting</span> : null;
  if (outcome === 'submitted') return <Status tone="ok">Submitted</Status>;
  return <Status tone="broken">{outcome.rejected}</Status>;
}
