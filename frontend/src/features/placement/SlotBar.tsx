/** Bar of the 16,384 hash slots in order, with each range in the color of its primary. */
import { memo } from 'react';
import { SLOT_COUNT } from '@/lib/slots';
import classes from './Placement.module.css';
import type { PlacementModel } from './placementModel';

/** With more ranges than this, there are no lines between them, because the lines would cover the colors. */
const SEPARATED_MAX = 128;

export const SlotBar = memo(function SlotBar({ slots }: Pick<PlacementModel, 'slots'>) {
  return (
    <div className={classes.slotBar}>
      <span className="num dim">0</span>
      <div
        className={classes.slots}
        role="img"
        aria-label={describe(slots)}
        data-many={slots.length > SEPARATED_MAX || undefined}
      >
        {slots.map(({ from, to, owner }) => {
          const size = to - from + 1;
          const label = `${from}–${to}`;
          return owner ? (
            <div
              key={from}
              className={classes.slot}
              style={{ flexGrow: size }}
              data-shard={owner.cell.shard.uid}
              data-pair={owner.pair.id}
              title={`Slots ${label}: redis:${owner.cell.shard.uid}`}
            />
          ) : (
            <div
              key={from}
              className={classes.unserved}
              style={{ flexGrow: size }}
              title={`Slots ${label}: not served`}
            />
          );
        })}
      </div>
      <span className="num dim">{SLOT_COUNT - 1}</span>
    </div>
  );
});

function describe(slots: PlacementModel['slots']): string {
  const unserved = slots.filter(({ owner }) => !owner).length;
  const text = `${SLOT_COUNT} hash slots in ${slots.length} ranges`;
  return unserved ? `${text}, ${unserved} of them without a primary` : text;
}
