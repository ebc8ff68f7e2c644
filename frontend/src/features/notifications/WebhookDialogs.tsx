/** Dialogs to add, edit and remove a receiver of notifications. */
import { NativeSelect, PasswordInput, Textarea, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import {
  changeWebhook,
  createWebhook,
  removeWebhook,
  webhooksQuery,
} from '@/api/alerting/webhooks';
import type { NewWebhook, Webhook } from '@/api/types';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import {
  addressError,
  eventChoices,
  KIND_CHOICES,
  KINDS,
  type Kind,
  SEVERITY_CHOICES,
  shownAddress,
  showsCertificate,
  urlOf,
} from './receivers';

interface CloseProps {
  onClose: () => void;
}

interface Draft {
  name: string;
  kind: Kind;
  address: string;
  secret: string;
  ca: string;
  events: NonNullable<NewWebhook['events']>;
  severity: NonNullable<NewWebhook['min_severity']>;
}

const EMPTY: Draft = {
  name: '',
  kind: 'webhook',
  address: '',
  secret: '',
  ca: '',
  events: 'alarms',
  severity: 'WARNING',
};

export function AddWebhook({ onClose }: CloseProps) {
  const reload = useReload();
  const [draft, setDraft] = useState(EMPTY);
  const { severity, address, ...rest } = draft;
  const newWebhook = {
    ...rest,
    url: urlOf(draft.kind, address),
    min_severity: severity,
  };
  return (
    <SubmitDialog
      title="Add receiver"
      action="Add receiver"
      disabled={!draft.name || addressError(draft.kind, address) !== undefined}
      onConfirm={() => createWebhook(newWebhook).then(reload)}
      onClose={onClose}
    >
      <Fields draft={draft} change={(part) => setDraft((now) => ({ ...now, ...part }))} isNew />
    </SubmitDialog>
  );
}

export function ChangeWebhook({ webhook, onClose }: CloseProps & { webhook: Webhook }) {
  const reload = useReload();
  const before: Draft = {
    name: webhook.name,
    kind: webhook.kind,
    address: shownAddress(webhook.url),
    secret: '',
    ca: webhook.ca,
    events: webhook.events,
    severity: webhook.min_severity,
  };
  const [draft, setDraft] = useState(before);
  const changes = {
    ...(draft.name !== before.name && { name: draft.name }),
    ...(draft.address !== before.address && { url: urlOf(draft.kind, draft.address) }),
    ...(draft.secret && { secret: draft.secret }),
    ...(draft.ca !== before.ca && { ca: draft.ca }),
    ...(draft.events !== before.events && { events: draft.events }),
    ...(draft.severity !== before.severity && { min_severity: draft.severity }),
  };
  return (
    <SubmitDialog
      title={`Edit receiver ${webhook.name}`}
      action="Save"
      disabled={
        !Object.keys(changes).length ||
        !draft.name ||
        addressError(draft.kind, draft.address) !== undefined
      }
      onConfirm={() => changeWebhook(webhook.uid, changes).then(reload)}
      onClose={onClose}
    >
      <Fields
        draft={draft}
        change={(part) => setDraft((now) => ({ ...now, ...part }))}
        isSigned={webhook.is_signed}
      />
    </SubmitDialog>
  );
}

export function RemoveWebhook({ webhook, onClose }: CloseProps & { webhook: Webhook }) {
  const reload = useReload();
  return (
    <SubmitDialog
      title={`Remove receiver ${webhook.name}?`}
      action="Remove receiver"
      onConfirm={() => removeWebhook(webhook.uid).then(reload)}
      onClose={onClose}
    >
      <span>
        {shownAddress(webhook.url)}{' '}
        {webhook.events === 'audit'
          ? 'gets no further audit records. The record of this removal is the first one that is not sent.'
          : 'gets no further messages, including messages about the end of alarms that are active now.'}
      </span>
    </SubmitDialog>
  );
}

function useReload() {
  const client = useQueryClient();
  return () => client.invalidateQueries({ queryKey: webhooksQuery.queryKey });
}

interface FieldsProps {
  draft: Draft;
  change: (part: Partial<Draft>) => void;
  isSigned?: boolean;
  isNew?: boolean;
}

function Fields({ draft, change, isSigned = false, isNew = false }: FieldsProps) {
  const { help, placeholder } = KINDS[draft.kind];
  return (
    <>
      {isNew && (
        <NativeSelect
          label="Type"
          value={draft.kind}
          onChange={(event) => {
            const kind = event.currentTarget.value as Kind;
            change({
              kind,
              address: '',
              secret: '',
              ca: '',
              events: 'alarms',
              severity: 'WARNING',
            });
          }}
          data={KIND_CHOICES}
        />
      )}
      <TextInput
        label="Name"
        required
        maxLength={120}
        data-autofocus
        value={draft.name}
        onChange={(event) => change({ name: event.currentTarget.value })}
      />
      <TextInput
        label="Address"
        description={help}
        required
        maxLength={2_000}
        placeholder={placeholder}
        value={draft.address}
        error={draft.address ? addressError(draft.kind, draft.address) : undefined}
        onChange={(event) => change({ address: event.currentTarget.value })}
      />
      {draft.kind !== 'alertmanager' && (
        <NativeSelect
          label="Messages"
          value={draft.events}
          onChange={(event) => {
            const events = event.currentTarget.value as Draft['events'];
            // A copy of the audit log must be complete.
            change({ events, severity: events === 'audit' ? 'INFO' : draft.severity });
          }}
          data={eventChoices(draft.kind)}
        />
      )}
      <NativeSelect
        label="Minimum severity"
        description={
          draft.events === 'audit'
            ? 'Denied and failed requests have the severity warning.'
            : undefined
        }
        value={draft.severity}
        onChange={(event) => change({ severity: event.currentTarget.value as Draft['severity'] })}
        data={SEVERITY_CHOICES}
      />
      {showsCertificate(draft.kind, draft.address) && (
        <Textarea
          label="Trusted CAs"
          description="In PEM format; if empty, the CAs that the console's machine trusts"
          autosize
          minRows={2}
          maxRows={6}
          maxLength={65_536}
          value={draft.ca}
          onChange={(event) => change({ ca: event.currentTarget.value })}
        />
      )}
      {draft.kind === 'webhook' && (
        <PasswordInput
          label="Secret"
          description={
            isSigned
              ? 'If empty, the current secret is kept'
              : 'Optional; signs each message, so that the receiver can verify the sender'
          }
          autoComplete="new-password"
          maxLength={256}
          value={draft.secret}
          onChange={(event) => change({ secret: event.currentTarget.value })}
        />
      )}
    </>
  );
}
