/** One order for several databases: each is told of by itself, and one that is refused holds up no other. */
import { Button, Group, Modal, Stack } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { messageOf } from '@/api/http';
import type { Bdb } from '@/api/types';
import { plural } from '@/lib/format';
import { TypedWords } from '@/ui/ConfirmByTyping';
import { Status } from '@/ui/Status';
import type { BulkAction } from './bulk';
import classes from './databases.module.css';

type Outcome = 'ordered' | { refused: string };

interface Props {
  action: BulkAction;
  /** Of which some may not be in a state for it. */
  chosen: readonly Bdb[];
  onClose: () => void;
}

export function BulkDialog({ action, chosen, onClose }: Props) {
  // What changes while the dialog is open is not swapped beneath the reader's hands.
  const [fitting] = useState(() => chosen.filter(action.fits));
  const [others] = useState(() => chosen.filter((bdb) => !action.fits(bdb)));
  const [typed, setTyped] = useState('');
  const [phase, setPhase] = useState<'asking' | 'ordering' | 'done'>('asking');
  const [outcomes, setOutcomes] = useState<ReadonlyMap<number, Outcome>>(new Map());
  const count = plural(fitting.length, 'database').replace('\u00a0', ' ');
  const ready = fitting.length > 0 && (!action.typed || typed === count);
  const refused = [...outcomes.values()].filter((outcome) => outcome !== 'ordered').length;

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (!ready || phase !== 'asking') return;
    setPhase('ordering');
    for (const bdb of fitting) {
      const outcome = await order(action, bdb);
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
      closeOnClickOutside={phase !== 'ordering'}
    >
      <form onSubmit={submit}>
        <Stack gap="sm">
          <span>{action.warning}</span>
          <ul className={classes.bulk} aria-live="polite">
            {fitting.map((bdb) => (
              <li key={bdb.uid}>
                <span>{bdb.name}</span>
                <OutcomeText outcome={outcomes.get(bdb.uid)} isRunning={phase === 'ordering'} />
              </li>
            ))}
          </ul>
          {others.length > 0 && (
            <span className="dim">
              Left out, as their state does not allow it:{' '}
              {others.map(({ name }) => name).join(', ')}
            </span>
          )}
          {action.typed && phase === 'asking' && fitting.length > 0 && (
            <TypedWords words={count} typed={typed} onType={setTyped} />
          )}
          {phase === 'done' && (
            <span role="status">
              {refused
                ? `${refused} of ${fitting.length} refused; the others are ordered.`
                : 'All are ordered. The drawer at the bottom shows how they go on.'}
            </span>
          )}
          <Group justify="flex-end" gap="xs">
            <Button variant="default" onClick={onClose} disabled={phase === 'ordering'}>
              {phase === 'done' ? 'Done' : 'Cancel'}
            </Button>
            {phase !== 'done' && (
              <Button
                type="submit"
                disabled={!ready}
                loading={phase === 'ordering'}
                {...(action.typed ? { color: 'red.9' } : {})}
              >
                {action.label}
              </Button>
            )}
          </Group>
        </Stack>
      </form>
    </Modal>
  );
}

async function order(action: BulkAction, bdb: Bdb): Promise<Outcome> {
  try {
    await action.order(bdb);
    return 'ordered';
  } catch (error) {
    return { refused: messageOf(error) };
  }
}

function OutcomeText({ outcome, isRunning }: { outcome: Outcome | undefined; isRunning: boolean }) {
  if (outcome === undefined) return isRunning ? <span className="dim">waiting</span> : null;
  if (outcome === 'ordered') return <Status tone="ok">Ordered</Status>;
  return <Status tone="broken">{outcome.refused}</Status>;
}
