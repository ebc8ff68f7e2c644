/** Form that creates a database: sections on the left; the plan and the equivalent curl command on the right. */
import { Alert, Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { nodesQuery, outOfServiceReason } from '@/api/cluster/nodes';
import { bdbsQuery, createBdb } from '@/api/databases/bdbs';
import { isNameTaken } from '@/api/databases/displayNames';
import type { Bdb } from '@/api/types';
import { clearSessionState, useSessionState } from '@/lib/sessionState';
import { Card } from '@/ui/Card';
import { CopyBlock } from '@/ui/Copy';
import { focusFirstError } from '@/ui/forms/focusFirstError';
import { SubmitButton } from '@/ui/forms/SubmitButton';
import { textAtField, useSubmit } from '@/ui/forms/useSubmit';
import { StatusIcon } from '@/ui/Status';
import classes from '../databases.module.css';
import { type FieldErrors, validate } from '../fields/validate';
import { endpointOf } from '../status';
import { Sections } from './CreateSections';
import { type CreateDraft, changeDraft, EMPTY_DRAFT, toCurl, toRequest } from './createDraft';
import { draftRisks } from './draftRisks';
import { draftSummary } from './draftSummary';
import { PresetChoice } from './PresetChoice';
import { applyPreset, type Preset } from './presets';
import { useCreatePreview } from './useCreatePreview';

const DRAFT_KEY = 'create';

const withoutPassword = (draft: CreateDraft): CreateDraft => ({ ...draft, password: '' });

export function CreateForm({ onCreated }: { onCreated: (bdb: Bdb) => Promise<unknown> }) {
  const nodes = (useQuery(nodesQuery).data ?? []).filter(
    (node) =>
      node.status === 'active' && node.accept_servers !== false && !outOfServiceReason(node),
  );
  const bdbs = useQuery(bdbsQuery).data ?? [];
  const ports = bdbs.flatMap((bdb) => endpointOf(bdb)?.port ?? []);
  const [draft, setDraft] = useSessionState<CreateDraft>(DRAFT_KEY, EMPTY_DRAFT, withoutPassword);
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set());
  const create = useSubmit(async () => {
    const bdb = await createBdb(toRequest(draft), draft.accepted_name === draft.name);
    clearSessionState(DRAFT_KEY);
    await onCreated(bdb);
  });
  const failure = create.failure;

  const nameTaken = isNameTaken(draft.name, bdbs);
  const allErrors = validate(draft, {
    nameTaken,
    nodes: nodes.length,
    ports,
    flashNodes: nodes.filter((node) => node.bigstore_enabled).length,
  });
  const { blueprint, rejection } = useCreatePreview(
    // The placement does not depend on the name, so a preview is possible without a valid name.
    Object.keys(allErrors).some((field) => field !== 'name')
      ? null
      : toRequest(allErrors.name ? { ...draft, name: 'preview' } : draft),
  );
  const shownErrors: FieldErrors = Object.fromEntries(
    Object.entries(allErrors).filter(([field]) => touched.has(field) || touched.has('*')),
  );
  if (failure?.field) shownErrors[failure.field] = textAtField(failure);
  const risks = draftRisks(draft, nameTaken);
  const shownAtField = failure?.field !== undefined && failure.field in toRequest(draft);

  const update = (part: Partial<CreateDraft>, field: string) => {
    setDraft((now) => changeDraft(now, part));
    setTouched((now) => new Set(now).add(field));
    create.clear();
  };

  const choosePreset = (preset: Preset) => {
    setDraft((now) => applyPreset(now, preset));
    create.clear();
  };

  const form = useRef<HTMLFormElement>(null);
  const failedField = failure?.field;
  useEffect(() => {
    if (failedField !== undefined && form.current) focusFirstError(form.current);
  }, [failedField]);

  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    setTouched(new Set(['*']));
    if (Object.keys(allErrors).length) {
      focusFirstError(event.currentTarget);
    } else create.submit();
  };

  return (
    <form ref={form} className={classes.layout} onSubmit={submit} noValidate>
      <div className={classes.sections}>
        <PresetChoice draft={draft} onChoose={choosePreset} />
        <Sections draft={draft} nameTaken={nameTaken} errors={shownErrors} update={update} />
        {failure && !shownAtField && (
          <Alert color="red" title="The console rejected the request" role="alert">
            {failure.text}
          </Alert>
        )}
        <div className={classes.buttons}>
          <SubmitButton type="submit" size="sm" loading={create.busy}>
            Create database
          </SubmitButton>
          <Button
            component={Link}
            to="/databases"
            variant="subtle"
            color="gray"
            size="sm"
            onClick={() => clearSessionState(DRAFT_KEY)}
          >
            Cancel
          </Button>
          {Object.keys(shownErrors).length > 0 && (
            <span style={{ color: 'var(--broken)' }}>Correct the marked fields.</span>
          )}
        </div>
      </div>
      <div className={classes.sidebar}>
        <Card title="Summary of the new database">
          {risks.length > 0 && (
            <ul className={classes.risks} aria-label="Risks">
              {risks.map((risk) => (
                <li key={risk}>
                  <StatusIcon tone="attention" />
                  <span>{risk}</span>
                </li>
              ))}
            </ul>
          )}
          <ul className={classes.plan}>
            {draftSummary(draft, blueprint).map((line) => (
              <li key={line}>{line}</li>
            ))}
          </ul>
          {rejection && (
            <Alert color="red" title="The console would reject this request" role="status">
              {rejection}
            </Alert>
          )}
        </Card>
        <Card title="Equivalent curl command">
          <CopyBlock text={toCurl(draft, location.origin)} label="Copy curl command" />
        </Card>
      </div>
    </form>
  );
}
