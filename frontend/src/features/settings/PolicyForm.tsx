/** Form for the cluster settings and policy: visible to all users, editable by administrators, saved together. */
import { Alert, Button, NativeSelect, NumberInput, Switch, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ROLE_DENIED_TEXT, sessionQuery } from '@/api/access/session';
import {
  policyQuery,
  readPolicy,
  readSettings,
  resetPolicy,
  type SettingSchema,
  type SettingValue,
  setPolicy,
  setSettings,
  settingSchemaQuery,
  settingsQuery,
} from '@/api/cluster/policy';
import { messageOf } from '@/api/http';
import {
  changedFields,
  conflictingFields,
  discardFields,
  type Edit,
  editFields,
  emptyEdit,
  keepEditedFields,
} from '@/lib/edits';
import { plural } from '@/lib/format';
import { Card } from '@/ui/Card';
import { Conflicts } from '@/ui/forms/Conflicts';
import { RequestError } from '@/ui/forms/RequestError';
import { SubmitButton } from '@/ui/forms/SubmitButton';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { useSubmit } from '@/ui/forms/useSubmit';
import { PageSkeleton } from '@/ui/Skeletons';
import {
  conflictsOf,
  formatSetting,
  isOfCluster,
  SECTIONS,
  type SettingDeclaration,
  type SettingValues,
  settingError,
} from './policies';
import classes from './settings.module.css';

export function PolicyForm({ may }: { may: boolean }) {
  const policy = useQuery(policyQuery);
  const settings = useQuery(settingsQuery);
  const policyRules = useQuery(settingSchemaQuery('policy'));
  const ofCluster = useQuery(settingSchemaQuery('cluster'));
  const error = policy.error ?? settings.error ?? policyRules.error ?? ofCluster.error;
  if (policy.data && settings.data && policyRules.data && ofCluster.data) {
    // Some settings are in both; the policy takes precedence.
    const now = { ...settings.data, ...policy.data };
    return <Form now={now} rules={{ ...ofCluster.data, ...policyRules.data }} may={may} />;
  }
  return error ? <Alert color="red">{messageOf(error)}</Alert> : <PageSkeleton />;
}

interface FormProps {
  now: SettingValues;
  rules: Readonly<Record<string, SettingSchema>>;
  may: boolean;
}

function Form({ now, rules, may }: FormProps) {
  const client = useQueryClient();
  const [edit, setEdit] = useState<Edit<SettingValues>>(emptyEdit);
  const [isResetOpen, setResetOpen] = useState(false);
  const names = changedFields(edit, now);
  const values = { ...now, ...edit.patch };
  const isInvalid = names.some((name) => {
    const [rule, value] = [rules[name], values[name]];
    return rule && value !== undefined && settingError(rule, value);
  });
  const conflicts = conflictsOf(edit, now);
  const changedNames = (stored: SettingValues, ofCluster: boolean) =>
    changedFields(edit, stored).filter((name) => isOfCluster(name) === ofCluster);
  const valuesOf = (fields: readonly string[]) =>
    Object.fromEntries(
      fields.flatMap((name) => {
        const value = edit.patch[name];
        return value === undefined ? [] : [[name, value]];
      }),
    );
  const reload = () =>
    // The session depends on the policy, too.
    [policyQuery, settingsQuery, sessionQuery].map(({ queryKey }) =>
      client.invalidateQueries({ queryKey }),
    );
  /** Drop the stored fields from the edit, but keep fields that changed again while they were saved. */
  const discardStored = (fields: readonly string[]) =>
    setEdit((current) =>
      discardFields(
        current,
        fields.filter((name) => current.patch[name] === edit.patch[name]),
      ),
    );
  const save = useSubmit(async () => {
    // No event reports changes of other users, so read the stored values before saving.
    const [settings, policy] = await Promise.all([readSettings(), readPolicy()]);
    client.setQueryData(settingsQuery.queryKey, settings);
    client.setQueryData(policyQuery.queryKey, policy);
    const stored = { ...settings, ...policy };
    if (conflictsOf(edit, stored).length) return; // The form shows the conflicts, and the user decides.
    for (const [fields, send] of [
      [changedNames(stored, false), setPolicy],
      [changedNames(stored, true), setSettings],
    ] as const) {
      if (!fields.length) continue;
      await send(valuesOf(fields));
      discardStored(fields); // These fields are stored even if the next request fails.
      await Promise.all(reload());
    }
    discardStored(Object.keys(edit.patch));
  });
  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault();
        if (names.length && !isInvalid && !conflicts.length) save.submit();
      }}
    >
      {!may && <Alert color="gray">{ROLE_DENIED_TEXT}</Alert>}
      {SECTIONS.map(({ title, rules: known }) => (
        <Card key={title} title={title}>
          <div className={classes.rules}>
            {known.map((each) => {
              const rule = rules[each.name];
              const value = values[each.name];
              // A console of another release may not have this setting.
              if (!rule || value === undefined) return null;
              return (
                <RuleRow
                  key={each.name}
                  declaration={each}
                  rule={rule}
                  value={value}
                  may={may}
                  onChange={(next) => {
                    setEdit((current) => editFields(current, { [each.name]: next }, now));
                    save.clear();
                  }}
                />
              );
            })}
          </div>
        </Card>
      ))}
      <Conflicts
        conflicts={conflicts}
        onDiscard={() =>
          setEdit((current) => discardFields(current, conflictingFields(current, now)))
        }
        onKeepEdited={() =>
          setEdit((current) => keepEditedFields(current, conflictingFields(current, now), now))
        }
      />
      <RequestError failure={save.failure} />
      {may && (
        <div className={classes.buttons}>
          <SubmitButton
            type="submit"
            disabled={!names.length || isInvalid || conflicts.length > 0}
            loading={save.busy}
          >
            {names.length ? `Save ${plural(names.length, 'change')}` : 'Save'}
          </SubmitButton>
          <Button variant="default" disabled={!names.length} onClick={() => setEdit(emptyEdit)}>
            Discard
          </Button>
          <Button variant="subtle" className={classes.all ?? ''} onClick={() => setResetOpen(true)}>
            Reset all to defaults…
          </Button>
        </div>
      )}
      {isResetOpen && (
        <SubmitDialog
          title="Reset all settings to their defaults?"
          action="Reset all"
          onConfirm={async () => {
            await resetPolicy();
            setEdit(emptyEdit);
            await Promise.all(reload());
          }}
          onClose={() => setResetOpen(false)}
        >
          This includes settings that are not shown here. Existing databases keep their settings.
        </SubmitDialog>
      )}
    </form>
  );
}

interface RowProps {
  declaration: SettingDeclaration;
  rule: SettingSchema;
  value: SettingValue;
  may: boolean;
  onChange: (value: SettingValue) => void;
}

/** Return whether to show the formatted value next to the field, because the raw number is hard to read. */
const needsFormattedValue = ({ unit, zero }: SettingDeclaration, value: SettingValue): boolean =>
  (value === 0 && zero !== undefined) ||
  ((unit === 'seconds' || unit === 'minutes' || unit === 'bytes') && Number.isFinite(value));

const SUFFIX = { seconds: ' s', minutes: ' min', days: ' days', bytes: ' bytes', none: '' };

function RuleRow({ declaration, rule, value, may, onChange }: RowProps) {
  const isDefault = value === rule.default;
  const id = `rule-${declaration.name}`;
  const common = { id, disabled: !may, 'aria-describedby': `${id}-help` };
  return (
    <div className={classes.rule}>
      <div>
        <label htmlFor={id}>{declaration.label}</label>
        <div id={`${id}-help`} className={classes.help}>
          {declaration.help}
        </div>
      </div>
      <div className={classes.value}>
        {rule.type === 'boolean' && (
          <Switch
            {...common}
            checked={value === true}
            onChange={(event) => onChange(event.currentTarget.checked)}
          />
        )}
        {rule.type === 'string' && !rule.enum && (
          <TextInput
            {...common}
            size="xs"
            maxLength={rule.maxLength}
            value={String(value)}
            error={settingError(rule, value)}
            onChange={(event) => onChange(event.currentTarget.value)}
          />
        )}
        {rule.type === 'string' && rule.enum && (
          <NativeSelect
            {...common}
            size="xs"
            value={String(value)}
            data={rule.enum.map((each) => ({
              value: each,
              label: formatSetting(declaration, each),
            }))}
            onChange={(event) => onChange(event.currentTarget.value)}
          />
        )}
        {rule.type === 'integer' && (
          <NumberInput
            {...common}
            size="xs"
            allowDecimal={false}
            thousandSeparator=" "
            suffix={SUFFIX[declaration.unit ?? 'none']}
            value={Number(value)}
            error={settingError(rule, value)}
            onChange={(next) => onChange(next === '' ? Number.NaN : Number(next))}
          />
        )}
        <div className={classes.help}>
          {needsFormattedValue(declaration, value) && (
            <span>{formatSetting(declaration, value)} · </span>
          )}
          {isDefault ? (
            'default'
          ) : (
            <>
              default: {formatSetting(declaration, rule.default)}
              {may && (
                <Button
                  size="compact-xs"
                  variant="subtle"
                  aria-label={`${declaration.label}: reset to default`}
                  onClick={() => onChange(rule.default)}
                >
                  Reset
                </Button>
              )}
            </>
          )}
        </div>
      </div>
    </div>
  );
}
