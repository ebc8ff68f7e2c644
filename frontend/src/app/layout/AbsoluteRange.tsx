/** Fields for the start and end of a time range, in the selected time zone. */
import { Button } from '@mantine/core';
import { type FormEvent, useId, useState } from 'react';
import { fromField, toField } from '@/lib/dates';
import type { Zone } from '@/lib/time';
import { timeWindowError } from '@/lib/timeWindow';
import classes from './RangePicker.module.css';

interface Props {
  window: { from: number; to: number };
  zone: Zone;
  /** Epoch seconds. */
  now: number;
  onChoose: (window: { from: number; to: number }) => void;
}

export function AbsoluteRange({ window, zone, now, onChoose }: Props) {
  const id = useId();
  const [from, setFrom] = useState(toField(window.from * 1000, zone));
  const [to, setTo] = useState(toField(window.to * 1000, zone));
  const first = Math.floor(fromField(from, zone) / 1000);
  const last = Math.floor(fromField(to, zone) / 1000);
  const error = timeWindowError(first, last, now);
  const valid = error === undefined;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (valid) onChoose({ from: first, to: last });
  };
  const fields = [
    { label: 'From', value: from, set: setFrom },
    { label: 'To', value: to, set: setTo },
  ];
  return (
    <form className={classes.absolute} onSubmit={submit}>
      {fields.map(({ label, value, set }) => (
        <label key={label} htmlFor={`${id}-${label}`}>
          {label}
          <input
            id={`${id}-${label}`}
            type="datetime-local"
            step={1}
            required
            value={value}
            onChange={(event) => set(event.currentTarget.value)}
          />
        </label>
      ))}
      <Button type="submit" disabled={!valid}>
        Show this interval
      </Button>
      {error && (
        <p className="small" role="alert">
          {error}
        </p>
      )}
    </form>
  );
}
