/** Input of an amount of memory. The unit is inside the field, so that description and error refer to the amount. */
import { NativeSelect, NumberInput } from '@mantine/core';
import { MEMORY_UNITS, type MemoryUnit } from '../create/createDraft';

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
      rightSectionWidth={84}
      rightSection={
        <NativeSelect
          variant="unstyled"
          // Otherwise it inherits the width of its section, which leaves no space for the text.
          rightSectionWidth={24}
          aria-label="Memory unit"
          value={unit}
          onChange={(event) => onChange({ memory_unit: event.currentTarget.value as MemoryUnit })}
          data={Object.keys(MEMORY_UNITS)}
        />
      }
    />
  );
}
