/** Values of the form for a receiver of notifications and the requests that they make. Pure. */
import type { NewWebhook, Webhook, WebhookUpdate } from '@/api/types';
import { addressError, type Kind, shownAddress, urlOf } from './receivers';

export interface WebhookValues {
  name: string;
  kind: Kind;
  address: string;
  secret: string;
  ca: string;
  events: Webhook['events'];
  min_severity: Webhook['min_severity'];
}

export const NEW_WEBHOOK: WebhookValues = {
  name: '',
  kind: 'webhook',
  address: '',
  secret: '',
  ca: '',
  events: 'alarms',
  min_severity: 'WARNING',
};

export const webhookValues = ({
  name,
  kind,
  url,
  ca,
  events,
  min_severity,
}: Webhook): WebhookValues => ({
  name,
  kind,
  address: shownAddress(url),
  secret: '',
  ca,
  events,
  min_severity,
});

/** Return the values for another type of receiver. They are the initial ones except for the name. */
export const withKind = ({ name }: WebhookValues, kind: Kind): WebhookValues => ({
  ...NEW_WEBHOOK,
  name,
  kind,
});

/** Return the values with other messages. A copy of the audit log must be complete, so it includes all severities. */
export const withEvents = (
  values: WebhookValues,
  events: WebhookValues['events'],
): WebhookValues => ({
  ...values,
  events,
  min_severity: events === 'audit' ? 'INFO' : values.min_severity,
});

/** Return the request that adds a receiver; undefined while a value is missing or invalid. */
export const newWebhook = (values: WebhookValues): NewWebhook | undefined =>
  isValid(values) ? fieldsOf(values) : undefined;

/** Return the request with the changed fields; undefined if no field differs, or while a value is missing or invalid. */
export function webhookChanges(values: WebhookValues, stored: Webhook): WebhookUpdate | undefined {
  const before = fieldsOf(webhookValues(stored));
  const changes = Object.entries(fieldsOf(values)).filter(
    ([field, value]) => value !== before[field as keyof NewWebhook],
  );
  return isValid(values) && changes.length > 0 ? Object.fromEntries(changes) : undefined;
}

const isValid = ({ name, kind, address }: WebhookValues): boolean =>
  name !== '' && addressError(kind, address) === undefined;

const fieldsOf = ({ address, ...fields }: WebhookValues): NewWebhook => ({
  ...fields,
  url: urlOf(fields.kind, address),
});
