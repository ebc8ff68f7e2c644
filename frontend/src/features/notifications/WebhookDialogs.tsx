/** The questions before a webhook is added, changed or removed. */
import { NativeSelect, PasswordInput, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import type { NewWebhook, Webhook } from '@/api/types';
import { changeWebhook, createWebhook, removeWebhook, webhooksQuery } from '@/api/webhooks';
import { Ask } from '@/ui/Ask';
import { EVENT_CHOICES, SEVERITY_CHOICES, urlFault } from './words';

interface Closing {
  onClose: () => void;
}

interface Draft {
  name: string;
  url: string;
  secret: string;
  events: NonNullable<NewWebhook['events']>;
  severity: NonNullable<NewWebhook['min_severity']>;
}

const EMPTY: Draft = { name: '', url: '', secret: '', events: 'alarms', severity: 'WARNING' };

export function AddWebhook({ onClose }: Closing) {
  const again = useAskAgain();
  const [draft, setDraft] = useState(EMPTY);
  const { severity, ...rest } = draft;
  return (
    <Ask
      title="Add webhook"
      action="Add webhook"
      disabled={!draft.name || urlFault(draft.url) !== undefined}
      onConfirm={() => createWebhook({ ...rest, min_severity: severity }).then(again)}
      onClose={onClose}
    >
      <Fields draft={draft} change={(part) => setDraft((now) => ({ ...now, ...part }))} />
    </Ask>
  );
}

export function ChangeWebhook({ webhook, onClose }: Closing & { webhook: Webhook }) {
  const again = useAskAgain();
  const before: Draft = {
    name: webhook.name,
    url: webhook.url,
    secret: '',
    events: webhook.events,
    severity: webhook.min_severity,
  };
  const [draft, setDraft] = useState(before);
  const changes = {
    ...(draft.name !== before.name && { name: draft.name }),
    ...(draft.url !== before.url && { url: draft.url }),
    ...(draft.secret && { secret: draft.secret }),
    ...(draft.events !== before.events && { events: draft.events }),
    ...(draft.severity !== before.severity && { min_severity: draft.severity }),
  };
  return (
    <Ask
      title={`Change ${webhook.name}`}
      action="Save"
      disabled={!Object.keys(changes).length || !draft.name || urlFault(draft.url) !== undefined}
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
      action="Remove webhook"
      onConfirm={() => removeWebhook(webhook.uid).then(again)}
      onClose={onClose}
    >
      <span>
        {webhook.url} is told of nothing any more, also not of the end of alarms that are open now.
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
}

function Fields({ draft, change, isSigned = false }: FieldsProps) {
  return (
    <>
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
        description="Gets a POST with JSON. Its text is a line that chat services show as it is."
        required
        maxLength={2_000}
        placeholder="https://hooks.example.org/…"
        value={draft.url}
        error={draft.url ? urlFault(draft.url) : undefined}
        onChange={(event) => change({ url: event.currentTarget.value })}
      />
      <NativeSelect
        label="Tells of"
        value={draft.events}
        onChange={(event) => change({ events: event.currentTarget.value as Draft['events'] })}
        data={[...EVENT_CHOICES]}
      />
      <NativeSelect
        label="From which severity on"
        value={draft.severity}
        onChange={(event) => change({ severity: event.currentTarget.value as Draft['severity'] })}
        data={SEVERITY_CHOICES}
      />
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
    </>
  );
}
