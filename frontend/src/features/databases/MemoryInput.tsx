/** An amount of memory with its unit. */
import { Input, NativeSelect, NumberInput } from '@mantine/core';
import { useId } from 'react';
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
  const id = useId();
  return (
    <Input.Wrapper id={id} label="Memory limit" description={description} error={error}>
      <div className={classes.memory}>
        <NumberInput
          id={id}
          aria-describedby={`${id}-description ${id}-error`}
          value={memory}
          error={Boolean(error)}
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
    </Input.Wrapper>
  );
}
