/** Severity of an event as text with an icon. */
import { Status, type Tone } from '@/ui/Status';

const TONES: Record<string, { tone: Tone; text: string }> = {
  INFO: { tone: 'unknown', text: 'Info' },
  WARNING: { tone: 'attention', text: 'Warning' },
  ERROR: { tone: 'broken', text: 'Error' },
  CRITICAL: { tone: 'broken', text: 'Critical' },
};

export function SeverityMark({ severity = 'INFO' }: { severity: string | undefined }) {
  const { tone, text } = TONES[severity] ?? { tone: 'unknown' as const, text: severity };
  // Most events are informational. They have no icon, so that the others stand out.
  if (severity === 'INFO') return <span className="dim">{text}</span>;
  return <Status tone={tone}>{text}</Status>;
}
