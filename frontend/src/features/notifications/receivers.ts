/** Texts and validation for receivers of notifications. Pure. */
import type { Webhook } from '@/api/types';
import { plural } from '@/lib/format';
import type { Tone } from '@/ui/Status';

const SEVERITIES = {
  INFO: 'All severities',
  WARNING: 'Warnings and errors',
  ERROR: 'Errors',
} as const;

export const SEVERITY_CHOICES = Object.entries(SEVERITIES).map(([value, label]) => ({
  value,
  label,
}));

export type Kind = Webhook['kind'];

/** Types of receivers with their address formats. */
export const KINDS: Record<Kind, { label: string; help: string; placeholder: string }> = {
  webhook: {
    label: 'Webhook',
    help: 'Receives POST requests with JSON. The field text is a single line that chat services can display.',
    placeholder: 'https://hooks.example.org/…',
  },
  email: {
    label: 'E-mail',
    help: 'One email address, or several separated by commas. Set the mail server on the Settings page.',
    placeholder: 'ops@example.org',
  },
  alertmanager: {
    label: 'Prometheus Alertmanager',
    help: 'The address of the Alertmanager. It receives alarms as alerts. Active alarms are sent again every minute.',
    placeholder: 'http://alertmanager.example.org:9093',
  },
  syslog: {
    label: 'Syslog',
    help: 'A server for RFC 5424 with TLS (default port 6514), or syslog+tcp:// without encryption (default port 601).',
    placeholder: 'syslog+tls://siem.example.org',
  },
};

export const KIND_CHOICES = Object.entries(KINDS).map(([value, { label }]) => ({ value, label }));

const EVENT_CHOICES = [
  { value: 'alarms', label: 'Alarms (raised and ended)' },
  { value: 'all', label: 'All events' },
] as const;
const AUDIT_CHOICE = { value: 'audit', label: 'Audit log' } as const;

/** Return the choices of messages for this type of receiver. Alertmanager supports only alarms. */
export const eventChoices = (kind: Kind) => {
  if (kind === 'alertmanager') return [EVENT_CHOICES[0]];
  return kind === 'email' ? [...EVENT_CHOICES] : [...EVENT_CHOICES, AUDIT_CHOICE];
};

/** Return whether the receiver uses TLS, so that a private CA can be set. */
export const showsCertificate = (kind: Kind, address: string): boolean =>
  kind !== 'email' && /^(https|syslog\+tls):/.test(address.trim());

const EVENT_LABELS: Record<Webhook['events'], string> = {
  alarms: 'Alarms',
  all: 'All events',
  audit: 'Audit log',
};

export function messagesText({ events, min_severity }: Webhook): string {
  const label = EVENT_LABELS[events];
  return min_severity === 'INFO' ? label : `${label}: ${SEVERITIES[min_severity].toLowerCase()}`;
}

export function stateOf(webhook: Webhook): readonly [Tone, string] {
  if (!webhook.enabled) return ['unknown', 'Off'];
  if (webhook.silent_until !== null) return ['unknown', 'Muted'];
  if (webhook.failures > 0)
    return ['attention', `Failing, ${plural(webhook.failures, 'attempt')}: ${webhook.last_error}`];
  if (webhook.last_told_time === null) return ['ok', 'Ready, nothing sent yet'];
  return ['ok', webhook.open ? `${plural(webhook.open, 'alarm')} active` : 'Up to date'];
}

const MAILTO = 'mailto:';

/** Return the address without the scheme `mailto:`, which users do not enter. */
export const shownAddress = (url: string) => url.replace(MAILTO, '');

export const urlOf = (kind: Kind, address: string) =>
  kind === 'email' ? `${MAILTO}${address.trim()}` : address.trim();

/** Return why the address is invalid; undefined if it is valid. */
export function addressError(kind: Kind, text: string): string | undefined {
  if (kind === 'syslog') return syslogError(text.trim());
  if (kind !== 'email') return urlError(text.trim());
  const invalid = text
    .split(',')
    .find((each) => !/^[^\s@,;<>"()]+@[A-Za-z0-9.-]+$/.test(each.trim()));
  return invalid === undefined ? undefined : 'Enter email addresses separated by commas';
}

function syslogError(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^syslog\+(tls|tcp):$/.test(url.protocol) || !url.hostname)
    return 'The address must start with syslog+tls:// or syslog+tcp:// and contain a host';
  const more = url.username || url.password || url.search || url.hash;
  return more || !['', '/'].includes(url.pathname)
    ? 'The address must contain only a host and a port'
    : undefined;
}

export function urlError(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol))
    return 'The address must start with https:// or http://';
  if (url.username || url.password)
    return 'The address must not contain a user and password, because other users could see them';
  return undefined;
}
