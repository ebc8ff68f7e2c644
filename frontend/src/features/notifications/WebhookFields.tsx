/** Fields of the dialogs for a receiver of notifications. */
import { NativeSelect, TextInput } from '@mantine/core';
import { PemField } from '@/ui/forms/PemField';
import { SecretField } from '@/ui/forms/SecretField';
import type { Form } from '@/ui/forms/useForm';
import { addressError, eventChoices, KINDS, SEVERITY_CHOICES, showsCertificate } from './receivers';
import { type WebhookValues, withEvents } from './webhookForm';

interface FieldsProps {
  form: Form<WebhookValues>;
}

export function TargetFields({ form }: FieldsProps) {
  const { kind, address } = form.values;
  const { help, placeholder } = KINDS[kind];
  return (
    <>
      <TextInput label="Name" required maxLength={120} data-autofocus {...form.text('name')} />
      <TextInput
        label="Address"
        description={help}
        required
        maxLength={2_000}
        placeholder={placeholder}
        error={address ? addressError(kind, address) : undefined}
        {...form.text('address')}
      />
    </>
  );
}

export function MessageFields({ form }: FieldsProps) {
  const { kind, events } = form.values;
  return (
    <>
      {kind !== 'alertmanager' && (
        <NativeSelect
          label="Messages"
          value={events}
          onChange={(event) =>
            form.set(withEvents(form.values, event.currentTarget.value as typeof events))
          }
          data={eventChoices(kind)}
        />
      )}
      <NativeSelect
        label="Minimum severity"
        description={
          events === 'audit' ? 'Rejected and failed requests have the severity warning.' : undefined
        }
        data={SEVERITY_CHOICES}
        {...form.text('min_severity')}
      />
    </>
  );
}

export function SecurityFields({ form, isSigned = false }: FieldsProps & { isSigned?: boolean }) {
  const { kind, address } = form.values;
  return (
    <>
      {showsCertificate(kind, address) && (
        <PemField
          label="Trusted CAs"
          description="In PEM format; if empty, the CAs that the console's machine trusts"
          {...form.value('ca')}
        />
      )}
      {kind === 'webhook' && (
        <SecretField
          label="Secret"
          noun="secret"
          isKept={isSigned}
          description="Optional; signs each message, so that the receiver can verify the sender"
          autoComplete="new-password"
          maxLength={256}
          {...form.text('secret')}
        />
      )}
    </>
  );
}
