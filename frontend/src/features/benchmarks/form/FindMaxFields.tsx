/** Fields for a search for the highest rate within a latency limit. */
import { NativeSelect, NumberInput, Stack } from '@mantine/core';
import { Card } from '@/ui/Card';
import classes from '../benchmarks.module.css';
import type { RunDraft } from './runDraft';

interface Props {
  draft: RunDraft;
  change: (part: Partial<RunDraft>) => void;
}

export function FindMaxFields({ draft, change }: Props) {
  return (
    <Card title="Highest rate">
      <Stack gap="sm">
        <div className={classes.fields}>
          <NativeSelect
            label="Search limit"
            value={draft.findMax}
            onChange={(event) =>
              change({ findMax: event.currentTarget.value as RunDraft['findMax'] })
            }
            data={[
              { value: '', label: 'No search' },
              { value: 'average_ms', label: 'Average latency' },
              { value: 'p99_ms', label: 'P99 latency' },
            ]}
          />
          {draft.findMax !== '' && (
            <>
              <NumberInput
                label="Limit"
                suffix=" ms"
                min={0.001}
                decimalScale={3}
                value={draft.findMaxMs}
                onChange={(value) => change({ findMaxMs: Number(value) || 0 })}
              />
              <NumberInput
                label="Confirmation runs"
                description="At the found rate"
                min={1}
                max={10}
                allowDecimal={false}
                value={draft.confirmations}
                onChange={(value) => change({ confirmations: Number(value) || 1 })}
              />
            </>
          )}
        </div>
        {draft.findMax !== '' && (
          <span className={classes.dim}>
            The measured phase is repeated at different rates until the highest rate within the
            limit is known. The duration above applies to each repetition.
          </span>
        )}
      </Stack>
    </Card>
  );
}
