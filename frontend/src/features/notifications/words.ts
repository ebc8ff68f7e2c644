/** Webhooks in words. Pure. */
import type { Webhook } from '@/api/types';
import { plural } from '@/lib/format';
import type { Tone } from '@/ui/Status';

const SEVERITIES = { INFO: 'Everything', WARNING: 'Warnings and errors', ERROR: 'Errors' } as const;

export const SEVERITY_CHOICES = Object.entries(SEVERITIES).map(([value, label]) => ({
  value,
  label,
}));

export type Kind = Webhook['kind'];

/** What gets the messages, and how it is addressed. */
export const KINDS: Record<Kind, { label: string; help: string; placeholder: string }> = {
  webhook: {
    label: 'Webhook',
    help: 'Gets a POST with JSON. Its text is a line that chat services show as it is.',
    placeholder: 'https://hooks.example.org/…',
  },
  email: {
    label: 'E-mail',
    help: 'One mail address, or several with commas between. The mail server is set on the page Settings.',
    placeholder: 'ops@example.org',
  },
  alertmanager: {
    label: 'Prometheus Alertmanager',
    help: 'Its own address. It gets alarms as alerts, again each minute while they go on.',
    placeholder: 'http://alertmanager.example.org:9093',
  },
  syslog: {
    label: 'Syslog',
    help: 'A receiver of RFC 5424 by TLS (port 6514 unless it is said), or syslog+tcp:// in clear (601).',
    placeholder: 'syslog+tls://siem.example.org',
  },
};

export const KIND_CHOICES = Object.entries(KINDS).map(([value, { label }]) => ({ value, label }));

const EVENT_CHOICES = [
  { value: 'alarms', label: 'Alarms, and when they end' },
  { value: 'all', label: 'Everything in the log' },
] as const;
const AUDIT_CHOICE = { value: 'audit', label: 'The audit trail: who did what' } as const;

/** What a receiver of that kind can be told of; of one thing there is no choice. */
export const eventChoices = (kind: Kind) => {
  if (kind === 'alertmanager') return [EVENT_CHOICES[0]];
  return kind === 'email' ? [...EVENT_CHOICES] : [...EVENT_CHOICES, AUDIT_CHOICE];
};

/** Whether it shows a certificate that authorities of one's own may have signed. */
export const showsCertificate = (kind: Kind, address: string): boolean =>
  kind !== 'email' && /^(https|syslog\+tls):/.test(address.trim());

const WANTS: Record<Webhook['events'], string> = {
  alarms: 'Alarms',
  all: 'Everything in the log',
  audit: 'The audit trail',
};

export function wantsWord({ events, min_severity }: Webhook): string {
  const what = WANTS[events];
  return min_severity === 'INFO' ? what : `${what}: ${SEVERITIES[min_severity].toLowerCase()}`;
}

export function stateOf(webhook: Webhook): readonly [Tone, string] {
  if (!webhook.enabled) return ['unknown', 'Off'];
  if (webhook.silent_until !== null) return ['unknown', 'Silent'];
  if (webhook.failures > 0)
    return ['attention', `Failing, ${plural(webhook.failures, 'attempt')}: ${webhook.last_error}`];
  if (webhook.last_told_time === null) return ['ok', 'Ready, nothing sent yet'];
  return ['ok', webhook.open ? `${plural(webhook.open, 'alarm')} open` : 'All told'];
}

const MAILTO = 'mailto:';

/** Of mail people see and type addresses only. */
export const shownAddress = (url: string) => url.replace(MAILTO, '');

export const urlOf = (kind: Kind, address: string) =>
  kind === 'email' ? `${MAILTO}${address.trim()}` : address.trim();

/** Why it cannot be an address; undefined when it can. */
export function addressFault(kind: Kind, text: string): string | undefined {
  if (kind === 'syslog') return syslogFault(text.trim());
  if (kind !== 'email') return urlFault(text.trim());
  const wrong = text
    .split(',')
    .find((each) => !/^[^\s@,;<>"()]+@[A-Za-z0-9.-]+$/.test(each.trim()));
  return wrong === undefined ? undefined : 'Mail addresses with commas between';
}

function syslogFault(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^syslog\+(tls|tcp):$/.test(url.protocol) || !url.hostname)
    return 'Begins with syslog+tls:// or syslog+tcp:// and names a host';
  const more = url.username || url.password || url.search || url.hash;
  return more || !['', '/'].includes(url.pathname) ? 'Nothing but a host and a port' : undefined;
}

export function urlFault(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) return 'Begins with https:// or http://';
  if (url.username || url.password) return 'Without user and password: others would see them';
  return undefined;
}
