/** Webhooks in words. Pure. */
import type { Webhook } from '@/api/types';
import { plural } from '@/lib/format';
import type { Tone } from '@/ui/Status';

const SEVERITIES = { INFO: 'Everything', WARNING: 'Warnings and errors', ERROR: 'Errors' } as const;

export const SEVERITY_CHOICES = Object.entries(SEVERITIES).map(([value, label]) => ({
  value,
  label,
}));

export const EVENT_CHOICES = [
  { value: 'alarms', label: 'Alarms, and when they end' },
  { value: 'all', label: 'Everything in the log' },
] as const;

export function wantsWord({ events, min_severity }: Webhook): string {
  const what = events === 'alarms' ? 'Alarms' : 'Everything in the log';
  return min_severity === 'INFO' ? what : `${what}: ${SEVERITIES[min_severity].toLowerCase()}`;
}

export function stateOf(webhook: Webhook): readonly [Tone, string] {
  if (!webhook.enabled) return ['unknown', 'Off'];
  if (webhook.failures > 0)
    return ['attention', `Failing, ${plural(webhook.failures, 'attempt')}: ${webhook.last_error}`];
  if (webhook.last_told_time === null) return ['ok', 'Ready, nothing sent yet'];
  return ['ok', webhook.open ? `${plural(webhook.open, 'alarm')} open` : 'All told'];
}

/** Why it cannot be an address; undefined when it can. */
export function urlFault(text: string): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !/^https?:$/.test(url.protocol)) return 'Begins with https:// or http://';
  if (url.username || url.password) return 'Without user and password: others would see them';
  return undefined;
}
