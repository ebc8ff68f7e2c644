/** Baseline and groups of a comparison, and its export. */
import { Button, Group, NativeSelect } from '@mantine/core';
import { type ComparisonChoice, comparisonPath } from '@/api/benchmarks';
import type { BenchmarkComparison } from '@/api/types';
import { Card } from '@/ui/Card';
import classes from '../benchmarks.module.css';
import { commonTags } from '../runText';

interface Props {
  choice: ComparisonChoice;
  runs: BenchmarkComparison['runs'];
  onChange: (part: Omit<Partial<ComparisonChoice>, 'uids'>) => void;
}

export function CompareOptions({ choice, runs, onChange }: Props) {
  return (
    <Card>
      <Group align="end" gap="sm">
        <NativeSelect
          label="Baseline"
          value={String(choice.baseline ?? runs[0]?.uid)}
          onChange={(event) => onChange({ baseline: Number(event.currentTarget.value) })}
          data={runs.map(({ uid, name }) => ({ value: String(uid), label: `${name} (${uid})` }))}
        />
        <NativeSelect
          label="Factors by"
          value={choice.group ?? ''}
          onChange={(event) =>
            onChange({
              group: (event.currentTarget.value || undefined) as ComparisonChoice['group'],
            })
          }
          data={[
            { value: '', label: 'None' },
            { value: 'scenario', label: 'Scenario' },
            { value: 'phase', label: 'Phase' },
            { value: 'name', label: 'Name of the run' },
          ]}
        />
        {choice.group && (
          <NativeSelect
            label="Columns"
            value={choice.column ?? 'database'}
            onChange={(event) => onChange({ column: event.currentTarget.value })}
            data={[
              { value: 'database', label: 'Databases' },
              ...commonTags(runs).map((key) => ({ value: key, label: `Tag ${key}` })),
            ]}
          />
        )}
        <div className={classes.actions}>
          {(['markdown', 'csv'] as const).map((format) => (
            <Button
              key={format}
              component="a"
              variant="default"
              href={comparisonPath(choice, format)}
              download
            >
              {format === 'csv' ? 'CSV' : 'Markdown'}
            </Button>
          ))}
        </div>
      </Group>
    </Card>
  );
}
