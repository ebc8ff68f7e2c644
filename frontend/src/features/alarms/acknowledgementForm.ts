/** Values of the dialog that acknowledges an alarm. Pure functions. */
import type { NewAcknowledgement } from '@/api/types';

export const NOTE_MAX = 500;

/** Expiry by value of the select; the empty value is valid until the alarm ends. */
export const EXPIRIES = [
  { value: '60', label: 'In 1 hour' },
  { value: '240', label: 'In 4 hours' },
  { value: '1440', label: 'In 1 day' },
  { value: '10080', label: 'In 7 days' },
  { value: '', label: 'When the alarm ends' },
] as const;

export interface AcknowledgementValues {
  note: string;
  minutes: string;
  /** Username; empty for the user of the session. */
  assignedTo: string;
}

/** Return the request; undefined if a value is invalid. */
export function toAcknowledgement(values: AcknowledgementValues): NewAcknowledgement | undefined {
  const note = values.note.trim();
  const assignee = values.assignedTo.trim();
  if (note.length > NOTE_MAX) return undefined;
  return {
    note,
    ...(values.minutes ? { minutes: Number(values.minutes) } : {}),
    ...(assignee ? { assigned_to: assignee } : {}),
  };
}
