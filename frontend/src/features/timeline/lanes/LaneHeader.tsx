/** Name of a lane. The name of a node is a button that shows or hides the lanes of its shards. */
import { IconChevronDown, IconChevronRight } from '@tabler/icons-react';
import type { Lane } from './lanes';
import classes from './Swimlanes.module.css';

export function LaneHeader({ lane, onToggle }: { lane: Lane; onToggle: (node: number) => void }) {
  const { title, detail, node, isExpanded } = lane;
  const names = (
    <>
      <span>{title}</span> <span className="dim small">{detail}</span>
    </>
  );
  if (node === null || isExpanded === null) return <div className={classes.head}>{names}</div>;
  const ToggleIcon = isExpanded ? IconChevronDown : IconChevronRight;
  return (
    <button
      type="button"
      className={classes.head}
      aria-expanded={isExpanded}
      title={isExpanded ? 'Hide shards' : 'Show shards'}
      onClick={() => onToggle(node)}
    >
      <ToggleIcon size={14} className={classes.expandButton} aria-hidden />
      {names}
    </button>
  );
}
