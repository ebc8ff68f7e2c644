/** Text in a plot without values: values are loading, or the reason why there are none. Written to the DOM without rendering. */
import type { Ref } from 'react';
import classes from './Chart.module.css';

interface EmptyReason {
  any: boolean;
  pending: boolean;
  reason: string;
}

export function EmptyPlot({ ref }: { ref: Ref<HTMLDivElement> }) {
  return (
    <div ref={ref} className={classes.empty} hidden>
      <strong>No data</strong>
      <span />
    </div>
  );
}

export function showEmptyReason(
  box: HTMLDivElement | null,
  { any, pending, reason }: EmptyReason,
): void {
  if (!box) return;
  box.hidden = any;
  if (any) return;
  box.toggleAttribute('data-pending', pending);
  box.setAttribute('aria-busy', String(pending));
  const text = box.lastElementChild;
  if (text) text.textContent = pending ? 'Loading…' : reason;
}
