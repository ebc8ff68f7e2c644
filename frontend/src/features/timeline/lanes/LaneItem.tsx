/** A mark or bar in a lane. CSS custom properties of the root element determine its position. */
import { memo } from 'react';
import { Elapsed } from '@/ui/Ago';
import { EventTypeIcon } from '../eventIcons';
import type { Item } from './items';
import classes from './Swimlanes.module.css';

interface Props {
  item: Item;
  base: number;
  selected: boolean;
  tabStop: boolean;
  onSelect: (id: string) => void;
}

export const LaneItem = memo(function LaneItem(props: Props) {
  const { item, base, selected, tabStop, onSelect } = props;
  const { shape, tone, label, from, to, row, count, percent, type } = item;
  const start = from / 1000 - base;
  // `useMovingWindow` keeps the end of an open bar at the current time.
  const end = to === null ? start : to / 1000 - base;
  return (
    <button
      type="button"
      className={shape === 'bar' ? classes.bar : classes.mark}
      style={{ '--start': start, '--end': end, '--at': row } as object}
      data-item
      data-from={from}
      data-tone={tone}
      data-open={(shape === 'bar' && to === null) || undefined}
      data-selected={selected || undefined}
      data-label={label}
      aria-label={label}
      tabIndex={tabStop ? 0 : -1}
      onClick={() => onSelect(item.id)}
    >
      {shape === 'bar' ? (
        <>
          <Phases item={item} />
          {percent !== null && (
            <span className={classes.progress} style={{ width: `${percent}%` }} />
          )}
          <span className={classes.text}>
            <EventTypeIcon type={type} size={13} />
            <span className={classes.itemText}>
              {item.text} {type === 'node_failed' && to === null && <Elapsed since={from} />}
            </span>
          </span>
        </>
      ) : (
        <>
          <EventTypeIcon type={type} />
          {count > 1 && <b className="num">{count}</b>}
        </>
      )}
    </button>
  );
});

/** Shaded phases of a resync. The width of a phase is proportional to its duration. */
function Phases({ item }: { item: Item }) {
  const { phases, to } = item;
  if (!phases.length) return null;
  return (
    <span className={classes.phases}>
      {phases.map((phase) => {
        const until = phase.to ?? to;
        return (
          <i
            key={phase.name + phase.from}
            data-phase={phase.name}
            title={phase.name}
            style={{
              flexGrow: until === null ? openShare(phases) : Math.max(1, until - phase.from),
            }}
          />
        );
      })}
    </span>
  );
}

/** Return the width of the running phase. It has no end yet, so the width of the longest phase is used. */
function openShare(phases: Item['phases']): number {
  return Math.max(1, ...phases.map(({ from, to }) => (to === null ? 0 : to - from)));
}
