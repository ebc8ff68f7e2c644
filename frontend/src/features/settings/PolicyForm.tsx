/** The rules of the cluster: seen by everybody, changed by administrators, saved together. */
import { Alert, Button, NativeSelect, NumberInput, Switch, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { messageOf } from '@/api/http';
import {
  policyQuery,
  type Rule,
  restorePolicy,
  rulesQuery,
  setPolicy,
  setSettings,
  settingsQuery,
  type Value,
} from '@/api/policy';
import { ROLE_FORBIDS } from '@/api/session';
import { plural } from '@/lib/format';
import { Ask } from '@/ui/Ask';
import { Card } from '@/ui/Card';
import { PageSkeleton } from '@/ui/Skeletons';
import { changesOf, faultOf, isOfCluster, type Known, SECTIONS, valueWords } from './policies';
import classes from './settings.module.css';

type Values = Readonly<Record<string, Value>>;

export function PolicyForm({ may }: { may: boolean }) {
  const policy = useQuery(policyQuery);
  const settings = useQuery(settingsQuery);
  const ofPolicy = useQuery(rulesQuery('policy'));
  const ofCluster = useQuery(rulesQuery('cluster'));
  const error = policy.error ?? settings.error ?? ofPolicy.error ?? ofCluster.error;
  if (policy.data && settings.data && ofPolicy.data && ofCluster.data) {
    // Some rules are in both; the policy comes first.
    const now = { ...settings.data, ...policy.data };
    return <Form now={now} rules={{ ...ofCluster.data, ...ofPolicy.data }} may={may} />;
  }
  return error ? <Alert color="red">{messageOf(error)}</Alert> : <PageSkeleton />;
}

interface FormProps {
  now: Values;
  rules: Readonly<Record<string, Rule>>;
  may: boolean;
}

function Form({ now, rules, may }: FormProps) {
  const client = useQueryClient();
  const [draft, setDraft] = useState<Values>({});
  const [state, setState] = useState<{ saving: boolean; error?: string }>({ saving: false });
  const [asked, setAsked] = useState(false);
  const changes = changesOf(now, draft);
  const count = Object.keys(changes).length;
  const isFaulty = Object.entries(changes).some(([name, value]) => {
    const rule = rules[name];
    return rule && faultOf(rule, value);
  });
  const read = () =>
    Promise.all(
      [policyQuery, settingsQuery].map(({ queryKey }) => client.invalidateQueries({ queryKey })),
    );
  const again = async () => {
    await read();
    setDraft({});
  };
  const save = async () => {
    setState({ saving: true });
    try {
      const all = Object.entries(changes);
      const settings = Object.fromEntries(all.filter(([name]) => isOfCluster(name)));
      const policy = Object.fromEntries(all.filter(([name]) => !isOfCluster(name)));
      if (Object.keys(policy).length) await setPolicy(policy);
      if (Object.keys(settings).length) await setSettings(settings);
      await again();
      setState({ saving: false });
    } catch (failure) {
      setState({ saving: false, error: messageOf(failure) });
      void read(); // the first of the two may have been saved
    }
  };
  return (
    <form
      className={classes.form}
      onSubmit={(event) => {
        event.preventDefault();
        void save();
      }}
    >
      {!may && <Alert color="gray">{ROLE_FORBIDS}</Alert>}
      {SECTIONS.map(({ title, rules: known }) => (
        <Card key={title} title={title}>
          <div className={classes.rules}>
            {known.map((each) => {
              const rule = rules[each.name];
              const value = draft[each.name] ?? now[each.name];
              // A console of another release may not know it.
              if (!rule || value === undefined) return null;
              return (
                <RuleRow
                  key={each.name}
                  known={each}
                  rule={rule}
                  value={value}
                  may={may}
                  onChange={(next) => {
                    setDraft((before) => ({ ...before, [each.name]: next }));
                    setState({ saving: false });
                  }}
                />
              );
            })}
          </div>
        </Card>
      ))}
      {state.error && (
        <Alert color="red" role="alert">
          {state.error}
        </Alert>
      )}
      {may && (
        <div className={classes.buttons}>
          <Button type="submit" disabled={!count || isFaulty} loading={state.saving}>
            {count ? `Save ${plural(count, 'change')}` : 'Save'}
          </Button>
          <Button variant="default" disabled={!count} onClick={() => setDraft({})}>
            Discard
          </Button>
          <Button variant="subtle" className={classes.all ?? ''} onClick={() => setAsked(true)}>
            Back to all defaults…
          </Button>
        </div>
      )}
      {asked && (
        <Ask
          title="Set every rule back to its default?"
          action="Set back"
          onConfirm={async () => {
            await restorePolicy();
            await again();
          }}
          onClose={() => setAsked(false)}
        >
          Also those that are not shown here. Databases that exist keep their own settings.
        </Ask>
      )}
    </form>
  );
}

interface RowProps {
  known: Known;
  rule: Rule;
  value: Value;
  may: boolean;
  onChange: (value: Value) => void;
}

/** Whether the field itself does not say what its number means. */
const isSaidBetter = ({ unit, zero }: Known, value: Value): boolean =>
  (value === 0 && zero !== undefined) ||
  ((unit === 'seconds' || unit === 'bytes') && Number.isFinite(value));

const SUFFIX = { seconds: ' s', days: ' days', bytes: ' bytes', none: '' };

function RuleRow({ known, rule, value, may, onChange }: RowProps) {
  const isDefault = value === rule.default;
  const id = `rule-${known.name}`;
  const common = { id, disabled: !may, 'aria-describedby': `${id}-help` };
  return (
    <div className={classes.rule}>
      <div>
        <label htmlFor={id}>{known.label}</label>
        <div id={`${id}-help`} className={classes.help}>
          {known.help}
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
            error={faultOf(rule, value)}
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
              label: valueWords(known, each),
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
            suffix={SUFFIX[known.unit ?? 'none']}
            value={Number(value)}
            error={faultOf(rule, value)}
            onChange={(next) => onChange(next === '' ? Number.NaN : Number(next))}
          />
        )}
        <div className={classes.help}>
          {isSaidBetter(known, value) && <span>{valueWords(known, value)} · </span>}
          {isDefault ? (
            'default'
          ) : (
            <>
              default: {valueWords(known, rule.default)}
              {may && (
                <Button
                  size="compact-xs"
                  variant="subtle"
                  aria-label={`${known.label}: back to the default`}
                  onClick={() => onChange(rule.default)}
                >
                  Set back
                </Button>
              )}
            </>
          )}
        </div>
      </div>
    </div>
  );
}
