/** Input for the target (SLA) with which a view compares the availability. */
import { NumberInput } from '@mantine/core';
import { useState } from 'react';
import { parseTarget } from './serviceLevel';

interface Props {
  target: number;
  onTarget: (target: number) => void;
}

export function TargetInput({ target, onTarget }: Props) {
  const [value, setValue] = useState<number | string>(target);
  const isInvalid = parseTarget(value) === undefined;
  return (
    <NumberInput
      label="Target"
      size="xs"
      w={130}
      min={0}
      max={100}
      step={0.001}
      decimalScale={5}
      suffix="%"
      value={value}
      error={isInvalid && 'Enter a percentage above 0.'}
      onChange={(entered) => {
        setValue(entered);
        const parsed = parseTarget(entered);
        if (parsed !== undefined) onTarget(parsed);
      }}
    />
  );
}
