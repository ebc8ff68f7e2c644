/** Form for alert switches and thresholds, which are saved together. */
import { Button, Switch, TextInput } from '@mantine/core';
import { useState } from 'react';
import { ROLE_DENIED_TEXT } from '@/api/access/session';
import type { AlertSettings } from '@/api/alerting/alerts';
import { Ago } from '@/ui/Ago';
import { Card } from '@/ui/Card';
import { RequestError } from '@/ui/forms/RequestError';
import { SubmitButton } from '@/ui/forms/SubmitButton';
import { useSubmit } from '@/ui/forms/useSubmit';
import { Status } from '@/ui/Status';
import classes from './alerts.module.css';
import { type AlertThreshold, alertSettingOf, changesOf, thresholdError } from './alertThresholds';

interface Props {
  title: string;
  limits: readonly AlertThreshold[];
  /** The stored settings. */
  now: AlertSettings;
  /** Start times of the active alarms, by name. */
  raised?: Readonly<Record<string, string>>;
  may: boolean;
  onSave: (changes: AlertSettings) => Promise<unknown>;
}

export function AlertThresholdForm({ title, limits, now, raised = {}, may, onSave }: Props) {
  const [draft, setDraft] = useState<AlertSettings>({});
  const changes = changesOf(limits, now, draft);
  const isDirty = Object.keys(changes).length > 0;
  const isInvalid = limits.some(
    (limit) => changes[limit.name] && thresholdError(limit, changes[limit.name]?.threshold),
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
          const setting = draft[limit.name] ?? alertSettingOf(limit, now);
          const since = raised[limit.name];
          const change = (part: Partial<typeof setting>) =>
            setDraft((current) => ({ ...current, [limit.name]: { ...setting, ...part } }));
          return (
            <div key={limit.name} className={classes.limit}>
              <Switch
                size="xs"
                label={limit.label}
                checked={setting.enabled}
                disabled={!may}
                onChange={(event) => change({ enabled: event.currentTarget.checked })}
              />
              {limit.unit && (
                <TextInput
                  size="xs"
                  aria-label={`${limit.label}, ${limit.unit}`}
                  inputMode="decimal"
                  className={classes.threshold ?? ''}
                  value={setting.threshold ?? ''}
                  disabled={!may}
                  error={draft[limit.name] && thresholdError(limit, setting.threshold)}
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
        <RequestError failure={save.failure} />
        <div className={classes.buttons}>
          <SubmitButton
            type="submit"
            size="xs"
            disabled={!may || !isDirty || isInvalid}
            loading={save.busy}
            title={may ? undefined : ROLE_DENIED_TEXT}
          >
            Save
          </SubmitButton>
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
