/** Input of an amount of memory and its unit. Description and error belong to the amount. */
import { NativeSelect, NumberInput } from '@mantine/core';
import { MEMORY_UNITS, type MemoryUnit } from '../create/createDraft';
import classes from '../databases.module.css';

interface Props {
  description: string;
  memory: number | string;
  unit: MemoryUnit;
  error: string | undefined;
  onChange: (part: { memory?: number | string; memory_unit?: MemoryUnit }) => void;
}

export function MemoryInput({ description, memory, unit, error, onChange }: Props) {
  return (
    <NumberInput
      label="Memory limit"
      description={description}
      error={error}
      value={memory}
      hideControls
      onChange={(value) => onChange({ memory: value })}
      // The margin depends on description and error, and would move the amount out of line with the unit.
      styles={{ wrapper: { margin: 0 } }}
      inputContainer={(amount) => (
        <div className={classes.memory}>
          {amount}
          <NativeSelect
            aria-label="Memory unit"
            value={unit}
            onChange={(event) => onChange({ memory_unit: event.currentTarget.value as MemoryUnit })}
            data={Object.keys(MEMORY_UNITS)}
          />
        </div>
      )}
    />
  );
}
