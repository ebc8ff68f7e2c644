/** Switches and thresholds of alerts; saved together. */
import { Alert, Button, Switch, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { WantedByName } from '@/api/alerts';
import { messageOf } from '@/api/http';
import { ROLE_FORBIDS } from '@/api/session';
import { Ago } from '@/ui/Ago';
import { Card } from '@/ui/Card';
import { Status } from '@/ui/Status';
import classes from './alerts.module.css';
import { changesOf, faultOf, type Limit, wantedOf } from './limits';

interface Props {
  title: string;
  limits: readonly Limit[];
  /** What is stored. */
  now: WantedByName;
  /** Since when those are raised that are. */
  raised?: Readonly<Record<string, string>>;
  may: boolean;
  onSave: (changes: WantedByName) => Promise<unknown>;
}

export function LimitForm({ title, limits, now, raised = {}, may, onSave }: Props) {
  const [draft, setDraft] = useState<WantedByName>({});
  const [state, setState] = useState<{ saving: boolean; error?: string }>({ saving: false });
  const changes = changesOf(limits, now, draft);
  const isDirty = Object.keys(changes).length > 0;
  const isFaulty = limits.some(
    (limit) => changes[limit.name] && faultOf(limit, changes[limit.name]?.threshold),
  );
  const save = () => {
    setState({ saving: true });
    onSave(changes)
      .then(() => {
        setDraft({});
        setState({ saving: false });
      })
      .catch((error) => setState({ saving: false, error: messageOf(error) }));
  };
  return (
    <Card title={title}>
      <form
        className={classes.form}
        onSubmit={(event) => {
          event.preventDefault();
          save();
        }}
      >
        {limits.map((limit) => {
          const wanted = draft[limit.name] ?? wantedOf(limit, now);
          const since = raised[limit.name];
          const change = (part: Partial<typeof wanted>) =>
            setDraft((before) => ({ ...before, [limit.name]: { ...wanted, ...part } }));
          return (
            <div key={limit.name} className={classes.limit}>
              <Switch
                size="xs"
                label={limit.label}
                checked={wanted.enabled}
                disabled={!may}
                onChange={(event) => change({ enabled: event.currentTarget.checked })}
              />
              {limit.unit && (
                <TextInput
                  size="xs"
                  aria-label={`${limit.label}, ${limit.unit}`}
                  inputMode="decimal"
                  className={classes.threshold ?? ''}
                  value={wanted.threshold ?? ''}
                  disabled={!may}
                  error={draft[limit.name] && faultOf(limit, wanted.threshold)}
                  onChange={(event) => change({ threshold: event.currentTarget.value.trim() })}
                />
              )}
              {limit.unit && <span className={classes.unit}>{limit.unit}</span>}
              {since && (
                <>
                  <Status tone="attention">Raised</Status>
                  <Ago time={since} />
                </>
              )}
            </div>
          );
        })}
        {state.error && (
          <Alert color="red" role="alert">
            {state.error}
          </Alert>
        )}
        <div className={classes.buttons}>
          <Button
            type="submit"
            size="xs"
            disabled={!may || !isDirty || isFaulty}
            loading={state.saving}
            title={may ? undefined : ROLE_FORBIDS}
          >
            Save
          </Button>
          {isDirty && (
            <Button size="xs" variant="default" onClick={() => setDraft({})}>
              Discard
            </Button>
          )}
        </div>
      </form>
    </Card>
  );
}
