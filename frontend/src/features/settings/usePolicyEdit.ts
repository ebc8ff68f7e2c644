/** Unsaved changes of the cluster settings and policy: conflicts with changes of other users, and saving. */
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { sessionQuery } from '@/api/access/session';
import {
  policyQuery,
  readPolicy,
  readSettings,
  type SettingSchema,
  type SettingValue,
  setPolicy,
  setSettings,
  settingsQuery,
} from '@/api/cluster/policy';
import {
  changedFields,
  conflictingFields,
  discardFields,
  type Edit,
  editFields,
  emptyEdit,
  keepEditedFields,
} from '@/lib/edits';
import { useSubmit } from '@/ui/forms/useSubmit';
import { conflictsOf, isOfCluster, type SettingValues, settingError } from './policies';

export type PolicyEdit = ReturnType<typeof usePolicyEdit>;

export function usePolicyEdit(now: SettingValues, rules: Readonly<Record<string, SettingSchema>>) {
  const client = useQueryClient();
  const [edit, setEdit] = useState<Edit<SettingValues>>(emptyEdit);
  const names = changedFields(edit, now);
  const values: Readonly<Record<string, SettingValue | undefined>> = { ...now, ...edit.patch };
  const isInvalid = names.some((name) => {
    const [rule, value] = [rules[name], values[name]];
    return rule && value !== undefined && settingError(rule, value);
  });
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
    Promise.all(
      // The session depends on the policy, too.
      [policyQuery, settingsQuery, sessionQuery].map(({ queryKey }) =>
        client.invalidateQueries({ queryKey }),
      ),
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
      await reload();
    }
    discardStored(Object.keys(edit.patch));
  });
  return {
    values,
    /** Number of changed settings. */
    changed: names.length,
    isInvalid,
    conflicts: conflictsOf(edit, now),
    save,
    reload,
    change: (name: string, value: SettingValue) => {
      setEdit((current) => editFields(current, { [name]: value }, now));
      save.clear();
    },
    discard: () => setEdit(emptyEdit),
    discardConflicts: () =>
      setEdit((current) => discardFields(current, conflictingFields(current, now))),
    keepConflicts: () =>
      setEdit((current) => keepEditedFields(current, conflictingFields(current, now), now)),
  };
}
