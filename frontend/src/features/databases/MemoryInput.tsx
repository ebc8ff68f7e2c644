/** An amount of memory with its unit. */
import { NativeSelect, NumberInput } from '@mantine/core';
import classes from './databases.module.css';
import { MEMORY_UNITS, type MemoryUnit } from './draft';

interface Props {
  description: string;
  memory: number | string;
  unit: MemoryUnit;
  error: string | undefined;
  onChange: (part: { memory?: number | string; memory_unit?: MemoryUnit }) => void;
}

export function MemoryInput({ description, memory, unit, error, onChange }: Props) {
  return (
    <div className={classes.memory}>
      <NumberInput
        label="Memory limit"
        description={description}
        value={memory}
        error={error}
        hideControls
        onChange={(value) => onChange({ memory: value })}
      />
      <NativeSelect
        aria-label="Memory unit"
        value={unit}
        onChange={(event) => onChange({ memory_unit: event.currentTarget.value as MemoryUnit })}
        data={Object.keys(MEMORY_UNITS)}
      />
    </div>
  );
}
