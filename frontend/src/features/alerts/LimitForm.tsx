/** Form for alert switches and thresholds, which are saved together. */
import { Button, Switch, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { WantedByName } from '@/api/alerts';
import { ROLE_FORBIDS } from '@/api/session';
import { Ago } from '@/ui/Ago';
import { Card } from '@/ui/Card';
import { Refused } from '@/ui/Refused';
import { Status } from '@/ui/Status';
import { useSubmit } from '@/ui/useSubmit';
import classes from './alerts.module.css';
import { changesOf, faultOf, type Limit, wantedOf } from './limits';

interface Props {
  title: string;
  limits: readonly Limit[];
  /** The stored settings. */
  now: WantedByName;
  /** Start times of the active alarms, by name. */
  raised?: Readonly<Record<string, string>>;
  may: boolean;
  onSave: (changes: WantedByName) => Promise<unknown>;
}

export function LimitForm({ title, limits, now, raised = {}, may, onSave }: Props) {
  const [draft, setDraft] = useState<WantedByName>({});
  const changes = changesOf(limits, now, draft);
  const isDirty = Object.keys(changes).length > 0;
  const isInvalid = limits.some(
    (limit) => changes[limit.name] && faultOf(limit, changes[limit.name]?.threshold),
  );
  const save = useSubmit(async () => {
    await onSave(changes);
    setDraft({});
  });
  return (
    <Card title={title}>
      <form
        className={classes.form}
        onSubmit={(event) => {
          event.preventDefault();
          save.submit();
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
        <Refused refusal={save.refusal} />
        <div className={classes.buttons}>
          <Button
            type="submit"
            size="xs"
            disabled={!may || !isDirty || isInvalid}
            loading={save.busy}
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
