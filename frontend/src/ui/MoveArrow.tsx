/** Arrow for a move between two columns of a grid with one column per node. */
import classes from './MoveArrow.module.css';

interface Props {
  row: number;
  /** Columns of the grid, from 1. */
  from: number;
  to: number;
}

export function MoveArrow({ row, from, to }: Props) {
  const [first, last] = [Math.min(from, to), Math.max(from, to)];
  if (first === last) return null;
  return (
    <div
      className={classes.arrow}
      data-back={to < from || undefined}
      style={
        {
          gridRow: row,
          gridColumn: `${first} / ${last + 1}`,
          '--columns': last - first + 1,
        } as React.CSSProperties
      }
      aria-hidden
    />
  );
}
