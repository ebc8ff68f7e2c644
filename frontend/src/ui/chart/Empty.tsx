/** What stands in a plot without values: that they are being read, or that there are none and why. Written, not rendered. */
import type { Ref } from 'react';
import classes from './Chart.module.css';

interface Said {
  any: boolean;
  pending: boolean;
  reason: string;
}

export function Empty({ ref }: { ref: Ref<HTMLDivElement> }) {
  return (
    <div ref={ref} className={classes.empty} hidden>
      <strong>No data</strong>
      <span />
    </div>
  );
}

export function sayEmpty(box: HTMLDivElement | null, { any, pending, reason }: Said): void {
  if (!box) return;
  box.hidden = any;
  if (any) return;
  box.toggleAttribute('data-pending', pending);
  box.setAttribute('aria-busy', String(pending));
  const text = box.lastElementChild;
  if (text) text.textContent = pending ? 'Reading …' : reason;
}
