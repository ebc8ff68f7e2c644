/**
 * Editing of the cluster settings and policy: visible to all users, editable by administrators. The settings are in several groups
 * of the page, and are saved together.
 */
import { Alert, Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { createContext, type ReactNode, useContext, useState } from 'react';
import { ROLE_DENIED_TEXT } from '@/api/access/session';
import {
  policyQuery,
  resetPolicy,
  type SettingSchema,
  type SettingValue,
  settingSchemaQuery,
  settingsQuery,
} from '@/api/cluster/policy';
import { messageOf } from '@/api/http';
import { plural } from '@/lib/format';
import { Card } from '@/ui/Card';
import { Conflicts } from '@/ui/forms/Conflicts';
import { RequestError } from '@/ui/forms/RequestError';
import { SubmitButton } from '@/ui/forms/SubmitButton';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { PageSkeleton } from '@/ui/Skeletons';
import type { Section, SettingValues } from './policies';
import { POLICY_FORM, SettingRow } from './SettingRow';
import classes from './settings.module.css';
import { type PolicyEdit, usePolicyEdit } from './usePolicyEdit';

interface Editing {
  values: PolicyEdit['values'];
  rules: Readonly<Record<string, SettingSchema>>;
  may: boolean;
  change: (name: string, value: SettingValue) => void;
}

/** Null if the settings could not be loaded. */
const EditingContext = createContext<Editing | null>(null);

interface EditorProps {
  may: boolean;
  /** Groups with the cards of the settings (`PolicySection`). */
  children: ReactNode;
}

export function PolicyEditor({ may, children }: EditorProps) {
  const policy = useQuery(policyQuery);
  const settings = useQuery(settingsQuery);
  const policyRules = useQuery(settingSchemaQuery('policy'));
  const ofCluster = useQuery(settingSchemaQuery('cluster'));
  const error = policy.error ?? settings.error ?? policyRules.error ?? ofCluster.error;
  if (policy.data && settings.data && policyRules.data && ofCluster.data) {
    // Some settings are in both; the policy takes precedence.
    const now = { ...settings.data, ...policy.data };
    const rules = { ...ofCluster.data, ...policyRules.data };
    return (
      <Editor now={now} rules={rules} may={may}>
        {children}
      </Editor>
    );
  }
  if (!error) return <PageSkeleton />;
  return (
    <>
      <Alert color="red">{messageOf(error)}</Alert>
      {children}
    </>
  );
}

interface Props extends EditorProps {
  now: SettingValues;
  rules: Editing['rules'];
}

function Editor({ now, rules, may, children }: Props) {
  const edit = usePolicyEdit(now, rules);
  const { values, change } = edit;
  return (
    <EditingContext value={{ values, rules, may, change }}>
      {!may && <Alert color="gray">{ROLE_DENIED_TEXT}</Alert>}
      {children}
      {may && <SaveBar edit={edit} />}
    </EditingContext>
  );
}

/** Card with settings that are edited together. */
export function PolicySection({ title, rules: known }: Pick<Section, 'title' | 'rules'>) {
  const editing = useContext(EditingContext);
  if (!editing) return null;
  const { values, rules, may, change } = editing;
  return (
    <Card title={title}>
      <div className={classes.rules}>
        {known.map((each) => {
          const rule = rules[each.name];
          const value = values[each.name];
          // A console of another release may not have this setting.
          if (!rule || value === undefined) return null;
          return (
            <SettingRow
              key={each.name}
              declaration={each}
              rule={rule}
              value={value}
              may={may}
              onChange={(next) => change(each.name, next)}
            />
          );
        })}
      </div>
    </Card>
  );
}

function SaveBar({ edit }: { edit: PolicyEdit }) {
  const { changed, conflicts, isInvalid, save } = edit;
  const [isResetOpen, setResetOpen] = useState(false);
  const canSave = changed > 0 && !isInvalid && !conflicts.length;
  return (
    <>
      <form
        id={POLICY_FORM}
        className={classes.saveBar}
        onSubmit={(event) => {
          event.preventDefault();
          if (canSave) save.submit();
        }}
      >
        <Conflicts
          conflicts={conflicts}
          onDiscard={edit.discardConflicts}
          onKeepEdited={edit.keepConflicts}
        />
        <RequestError failure={save.failure} />
        <div className={classes.buttons}>
          <SubmitButton type="submit" disabled={!canSave} loading={save.busy}>
            {changed ? `Save ${plural(changed, 'change')}` : 'Save'}
          </SubmitButton>
          <Button variant="default" disabled={!changed} onClick={edit.discard}>
            Discard
          </Button>
          <Button variant="subtle" className={classes.all ?? ''} onClick={() => setResetOpen(true)}>
            Reset all to defaults…
          </Button>
        </div>
      </form>
      {isResetOpen && (
        <SubmitDialog
          title="Reset all settings to their defaults?"
          action="Reset all"
          onConfirm={async () => {
            await resetPolicy();
            edit.discard();
            await edit.reload();
          }}
          onClose={() => setResetOpen(false)}
        >
          This includes settings that are not shown here. Existing databases keep their settings.
        </SubmitDialog>
      )}
    </>
  );
}
