/** Field for the point in time to which a database is restored. */
import { TextInput } from '@mantine/core';
import { fromField, toField } from '@/lib/dates';
import type { Zone } from '@/lib/time';
import { useZone } from '@/ui/useZone';
import { momentError, type Period, periodText } from './restoreWindows';

interface Props {
  /** Epoch milliseconds; null or NaN if it is not a time. */
  value: number | null;
  windows: readonly Period[];
  onChange: (value: number) => void;
}

export function TimeField({ value, windows, onChange }: Props) {
  const zone = useZone();
  const [first, last] = [windows[0], windows.at(-1)];
  return (
    <TextInput
      type="datetime-local"
      step={1}
      required
      label={`Point in time (${zoneName(zone)})`}
      description={windows.map((each) => `${periodText(each, zone)}.`).join(' ')}
      min={first && toField(first.from, zone)}
      max={last && toField(last.to, zone)}
      error={momentError(value, windows, zone)}
      defaultValue={value === null || Number.isNaN(value) ? '' : toField(value, zone)}
      onChange={(event) => onChange(fromField(event.currentTarget.value, zone))}
    />
  );
}

const zoneName = (zone: Zone): string =>
  zone === 'utc' ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone;
