/** API of acknowledgements of alarms. */
import { request } from '../http';
import type { LogEvent, NewAcknowledgement } from '../types';

const pathOf = (alarm: number) => `/v1/alarms/${alarm}/acknowledgement`;

export const acknowledgeAlarm = (alarm: number, body: NewAcknowledgement) =>
  request<LogEvent>('POST', pathOf(alarm), body);

export const withdrawAcknowledgement = (alarm: number) =>
  request<LogEvent>('DELETE', pathOf(alarm));

/** Return whether an alarm is acknowledged at a time in epoch milliseconds. */
export function isAcknowledged({ acknowledgement }: LogEvent, now: number): boolean {
  if (!acknowledgement) return false;
  return acknowledgement.until_ms === undefined || now < acknowledgement.until_ms;
}
