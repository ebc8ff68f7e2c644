/** Cell of a comparison: mean, range, and the factor to the baseline. */
import type { BenchmarkComparison } from '@/api/types';
import classes from '../benchmarks.module.css';
import { figureValue, rangeText } from '../runText';

type Figure = BenchmarkComparison['figures'][number];
type Difference = NonNullable<Figure['differences'][number]>;

interface Props {
  name: string;
  value: Figure['values'][number] | undefined;
  difference: Difference | null | undefined;
  /** Show the factor first, as in tables of factors. */
  factorFirst?: boolean;
}

export function SpreadCell({ name, value, difference, factorFirst = false }: Props) {
  const mean = figureValue(name, value?.mean);
  const range = rangeText(name, value);
  const factor = difference && differenceText(difference);
  return (
    <>
      {factorFirst && factor ? <strong>{factor}</strong> : mean}
      {range && !factorFirst && <div className={classes.dim}>{range}</div>}
      {factor && <div className={classes.dim}>{factorFirst ? mean : factor}</div>}
    </>
  );
}

function differenceText({ ratio, stands_out }: Difference): string {
  const times = `${ratio.toFixed(2)}×`;
  if (stands_out === null) return `${times}, noise unknown`;
  return stands_out ? `${times}, significant` : `${times}, within noise`;
}
