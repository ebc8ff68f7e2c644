/** The number of keys that fills the memory of the database, with its computation. */
import { Button } from '@mantine/core';
import type { Preflight } from '@/api/types';
import { format } from '@/lib/format';
import classes from '../benchmarks.module.css';

interface Props {
  fill: Preflight['fill'];
  /** The number of keys in the form. */
  keys: number;
  onUse: (keys: number) => void;
}

export function FillOffer({ fill, keys, onUse }: Props) {
  if (fill.keys === 0) return null;
  return (
    <div className={classes.dim}>
      {fill.basis === 'database'
        ? 'Keys that fill the memory limit'
        : 'Keys that fill the memory of the nodes'}
      : {fill.formula} = {fill.keys.toLocaleString('en-US')}{' '}
      <Button
        size="compact-xs"
        variant="default"
        disabled={keys === fill.keys}
        onClick={() => onUse(fill.keys)}
      >
        Use {format('count', fill.keys)} keys
      </Button>
    </div>
  );
}
