/** Slider for the part of a flash database's memory that can be RAM. */
import { Input, Slider } from '@mantine/core';
import { format } from '@/lib/format';
import { RAM_PERCENT_ADVISED, RAM_PERCENT_MIN, ramBytes } from './flashMemory';

interface Props {
  memory: number;
  percent: number;
  error: string | undefined;
  onChange: (percent: number) => void;
}

const MARKS = [RAM_PERCENT_MIN, RAM_PERCENT_ADVISED, 100].map((value) => ({
  value,
  label: `${value}%`,
}));

export function RamLimit({ memory, percent, error, onChange }: Props) {
  const ram = ramBytes(memory, percent);
  const sizes =
    memory > 0 ? `${format('bytes', ram)} of RAM, ${format('bytes', memory - ram)} of flash. ` : '';
  const advice =
    percent > RAM_PERCENT_ADVISED
      ? `Above ${RAM_PERCENT_ADVISED}%, a database in RAM costs almost the same and is faster.`
      : 'Sufficient if most requests access only this part of the data. Keys always stay in RAM.';
  return (
    <Input.Wrapper label="RAM limit" description={sizes + advice} error={error}>
      <Slider
        aria-label="RAM limit in percent"
        thumbLabel="RAM limit in percent"
        thumbProps={{ 'aria-invalid': error ? true : undefined }}
        mt={8}
        mb={22}
        min={RAM_PERCENT_MIN}
        max={100}
        value={percent}
        onChange={onChange}
        marks={MARKS}
        label={(value) => `${value}%`}
      />
    </Input.Wrapper>
  );
}
