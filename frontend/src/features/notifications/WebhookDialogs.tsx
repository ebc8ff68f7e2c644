/** The questions before a webhook is added, changed or removed. */
import { NativeSelect, PasswordInput, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { NewWebhook, Webhook } from '@/api/types';
import { changeWebhook, createWebhook, removeWebhook, webhooksQuery } from '@/api/webhooks';
import { Ask } from '@/ui/Ask';
import {
  addressFault,
  EVENT_CHOICES,
  KIND_CHOICES,
  KINDS,
  type Kind,
  SEVERITY_CHOICES,
  shownAddress,
  urlOf,
} from './words';

interface Closing {
  onClose: () => void;
}

interface Draft {
  name: string;
  kind: Kind;
  address: string;
  secret: string;
  events: NonNullable<NewWebhook['events']>;
  severity: NonNullable<NewWebhook['min_severity']>;
}

const EMPTY: Draft = {
  name: '',
  kind: 'webhook',
  address: '',
  secret: '',
  events: 'alarms',
  severity: 'WARNING',
};

export function AddWebhook({ onClose }: Closing) {
  const again = useAskAgain();
  const [draft, setDraft] = useState(EMPTY);
  const { severity, address, events, ...rest } = draft;
  const order = {
    ...rest,
    url: urlOf(draft.kind, address),
    events: draft.kind === 'alertmanager' ? ('alarms' as const) : events,
    min_severity: severity,
  };
  return (
    <Ask
      title="Add receiver"
      action="Add receiver"
      disabled={!draft.name || addressFault(draft.kind, address) !== undefined}
      onConfirm={() => createWebhook(order).then(again)}
      onClose={onClose}
    >
      <Fields draft={draft} change={(part) => setDraft((now) => ({ ...now, ...part }))} isNew />
    </Ask>
  );
}

export function ChangeWebhook({ webhook, onClose }: Closing & { webhook: Webhook }) {
  const again = useAskAgain();
  const before: Draft = {
    name: webhook.name,
    kind: webhook.kind,
    address: shownAddress(webhook.url),
    secret: '',
    events: webhook.events,
    severity: webhook.min_severity,
  };
  const [draft, setDraft] = useState(before);
  const changes = {
    ...(draft.name !== before.name && { name: draft.name }),
    ...(draft.address !== before.address && { url: urlOf(draft.kind, draft.address) }),
    ...(draft.secret && { secret: draft.secret }),
    ...(draft.events !== before.events && { events: draft.events }),
    ...(draft.severity !== before.severity && { min_severity: draft.severity }),
  };
  return (
    <Ask
      title={`Change ${webhook.name}`}
      action="Save"
      disabled={
        !Object.keys(changes).length ||
        !draft.name ||
        addressFault(draft.kind, draft.address) !== undefined
      }
      onConfirm={() => changeWebhook(webhook.uid, changes).then(again)}
      onClose={onClose}
    >
      <Fields
        draft={draft}
        change={(part) => setDraft((now) => ({ ...now, ...part }))}
        isSigned={webhook.is_signed}
      />
    </Ask>
  );
}

export function RemoveWebhook({ webhook, onClose }: Closing & { webhook: Webhook }) {
  const again = useAskAgain();
  return (
    <Ask
      title={`Remove ${webhook.name}?`}
      action="Remove receiver"
      onConfirm={() => removeWebhook(webhook.uid).then(again)}
      onClose={onClose}
    >
      <span>
        {shownAddress(webhook.url)} is told of nothing any more, also not of the end of alarms that
        are open now.
      </span>
    </Ask>
  );
}

function useAskAgain() {
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
          label="Kind"
          value={draft.kind}
          onChange={(event) => change({ kind: event.currentTarget.value as Kind, address: '' })}
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
        error={draft.address ? addressFault(draft.kind, draft.address) : undefined}
        onChange={(event) => change({ address: event.currentTarget.value })}
      />
      {draft.kind !== 'alertmanager' && (
        <NativeSelect
          label="Tells of"
          value={draft.events}
          onChange={(event) => change({ events: event.currentTarget.value as Draft['events'] })}
          data={[...EVENT_CHOICES]}
        />
      )}
      <NativeSelect
        label="From which severity on"
        value={draft.severity}
        onChange={(event) => change({ severity: event.currentTarget.value as Draft['severity'] })}
        data={SEVERITY_CHOICES}
      />
      {draft.kind === 'webhook' && (
        <PasswordInput
          label="Secret"
          description={
            isSigned
              ? 'It has one; leave this empty to keep it'
              : 'Signs each message, so that the receiver knows who sent it; may be empty'
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
