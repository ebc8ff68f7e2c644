/**
 * Lanes of events and actions on a common time axis. Rendered only on changes; as time passes,
 * existing elements are moved.
 */
import { useRef, useState } from 'react';
import type { CoarseWindow } from '@/live/useCoarseWindow';
import { Elapsed } from '@/ui/Ago';
import type { Item } from './items';
import { LaneHeader } from './LaneHeader';
import { LaneItem } from './LaneItem';
import type { Lane } from './lanes';
import classes from './Swimlanes.module.css';
import { TimeScale } from './TimeScale';
import { useDragZoom } from './useDragZoom';
import { useItemKeys } from './useItemKeys';
import { useMovingWindow } from './useMovingWindow';

interface Props {
  lanes: readonly Lane[];
  window: CoarseWindow;
  selected: string | undefined;
  onSelect: (id: string) => void;
  onToggle: (node: number) => void;
}

export function Swimlanes({ lanes, window, selected, onSelect, onToggle }: Props) {
  // Positions are relative to a base, because CSS would lose the fractions of large numbers.
  const [base] = useState(() => Math.floor(window.from));
  const root = useMovingWindow(base);
  const tooltip = useRef<HTMLDivElement>(null);
  const drag = useDragZoom(root);
  const onKeyDown = useItemKeys();

  const showLabel = (target: EventTarget) => {
    const item = (target as Element).closest<HTMLElement>('[data-item]');
    const label = tooltip.current;
    if (!label || !root.current) return;
    label.hidden = !item;
    if (!item) return;
    const own = item.getBoundingClientRect();
    const all = root.current.getBoundingClientRect();
    label.textContent = item.dataset.label ?? '';
    label.style.top = `${own.bottom - all.top + 4}px`;
    const left = Math.max(own.left, all.left + 130) - all.left;
    label.style.left = `${Math.min(left, all.width - 330)}px`;
  };

  const items = lanes.flatMap(({ items: own }) => own);
  const stop = items.find(({ id }) => id === selected) ?? items.at(-1);
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions: keys move the focus between the buttons inside; dragging zooms, for which buttons exist as well
    <div
      ref={root}
      className={classes.root}
      onKeyDown={onKeyDown}
      onPointerOver={(event) => showLabel(event.target)}
      onFocus={(event) => showLabel(event.target)}
      onPointerLeave={() => tooltip.current?.toggleAttribute('hidden', true)}
      {...drag.handlers}
    >
      <TimeScale window={window} base={base} />
      {lanes.map((lane) => (
        <div key={lane.id} className={classes.lane} data-depth={lane.depth}>
          <LaneHeader lane={lane} onToggle={onToggle} />
          <div className={classes.track} data-track style={{ '--rows': lane.rows } as object}>
            <div className={classes.strip} data-strip>
              {lane.items.map((item) => (
                <LaneItem
                  // The first event identifies a mark, so that the element survives a click while
                  // other events join the mark.
                  key={item.shape + item.id.split(',')[0]}
                  item={item}
                  base={base}
                  selected={isSelected(item, selected)}
                  tabStop={item === stop}
                  onSelect={onSelect}
                />
              ))}
            </div>
          </div>
          <div className={classes.gutter}>
            <LaneState items={lane.items} />
          </div>
        </div>
      ))}
      <div ref={drag.selection} className={classes.selection} hidden />
      <div ref={tooltip} className={classes.bubble} role="tooltip" hidden />
    </div>
  );
}

/** Whether an item contains the selected event. A failover appears in two lanes, and both are highlighted. */
const isSelected = ({ id }: Item, selected: string | undefined): boolean =>
  selected !== undefined && (id === selected || id.split(',').includes(selected));

/** Current state at the end of a lane: down, or progress of a running resync or action. */
function LaneState({ items }: { items: readonly Item[] }) {
  const down = items.find(({ type, to }) => type === 'node_failed' && to === null);
  if (down) {
    return (
      <span data-tone="broken">
        down <Elapsed since={down.from} />
      </span>
    );
  }
  const running = items.find(({ percent, to }) => percent !== null && to === null);
  return running ? <span className="num">{Math.floor(running.percent ?? 0)}%</span> : null;
}
