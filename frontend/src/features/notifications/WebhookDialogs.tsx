/** Dialogs to add, edit and remove a receiver of notifications. */
import { NativeSelect } from '@mantine/core';
import {
  changeWebhook,
  createWebhook,
  removeWebhook,
  webhooksQuery,
} from '@/api/alerting/webhooks';
import type { Webhook } from '@/api/types';
import { useInvalidateAfter } from '@/api/useInvalidateAfter';
import { FormDialog } from '@/ui/forms/FormDialog';
import { SubmitDialog } from '@/ui/forms/SubmitDialog';
import { useForm } from '@/ui/forms/useForm';
import { KIND_CHOICES, type Kind, shownAddress } from './receivers';
import { MessageFields, SecurityFields, TargetFields } from './WebhookFields';
import { NEW_WEBHOOK, newWebhook, webhookChanges, webhookValues, withKind } from './webhookForm';

interface CloseProps {
  onClose: () => void;
}

interface WebhookProps extends CloseProps {
  webhook: Webhook;
}

export function AddWebhook({ onClose }: CloseProps) {
  const form = useForm(NEW_WEBHOOK);
  const invalidateAfter = useInvalidateAfter(webhooksQuery);
  return (
    <FormDialog
      title="Add receiver"
      action="Add receiver"
      request={newWebhook(form.values)}
      onSubmit={(request) => invalidateAfter(createWebhook(request))}
      onClose={onClose}
    >
      <NativeSelect
        label="Type"
        value={form.values.kind}
        onChange={(event) => form.set(withKind(form.values, event.currentTarget.value as Kind))}
        data={KIND_CHOICES}
      />
      <TargetFields form={form} />
      <MessageFields form={form} />
      <SecurityFields form={form} />
    </FormDialog>
  );
}

export function ChangeWebhook({ webhook, onClose }: WebhookProps) {
  const form = useForm(() => webhookValues(webhook));
  const invalidateAfter = useInvalidateAfter(webhooksQuery);
  return (
    <FormDialog
      title={`Edit receiver ${webhook.name}`}
      request={webhookChanges(form.values, webhook)}
      onSubmit={(changes) => invalidateAfter(changeWebhook(webhook.uid, changes))}
      onClose={onClose}
    >
      <TargetFields form={form} />
      <MessageFields form={form} />
      <SecurityFields form={form} isSigned={webhook.is_signed} />
    </FormDialog>
  );
}

export function RemoveWebhook({ webhook, onClose }: WebhookProps) {
  const invalidateAfter = useInvalidateAfter(webhooksQuery);
  return (
    <SubmitDialog
      title={`Remove receiver ${webhook.name}?`}
      action="Remove receiver"
      onConfirm={() => invalidateAfter(removeWebhook(webhook.uid))}
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
