/** Name of a lane. The name of a node is a button that shows or hides the lanes of its shards. */
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import type { Lane } from './lanes';
import classes from './swimlanes.module.css';

export function LaneHead({ lane, onToggle }: { lane: Lane; onToggle: (node: number) => void }) {
  const { title, detail, node, open } = lane;
  const names = (
    <>
      <span>{title}</span> <span className="dim small">{detail}</span>
    </>
  );
  if (node === null || open === null) return <div className={classes.head}>{names}</div>;
  const Fold = open ? IconChevronDown : IconChevronRight;
  return (
    <button
      type="button"
      className={classes.head}
      aria-expanded={open}
      title={open ? 'Hide shards' : 'Show shards'}
      onClick={() => onToggle(node)}
    >
      <Fold size={14} className={classes.fold} aria-hidden />
      {names}
    </button>
  );
}
