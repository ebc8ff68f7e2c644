/** Move the focus with the arrow keys: along the lane, or to the nearest item of the lane above or below. */
import type { KeyboardEvent } from 'react';

export function useItemKeys() {
  return (event: KeyboardEvent<HTMLElement>) => {
    const current = (event.target as Element).closest<HTMLElement>('[data-item]');
    if (!current || event.ctrlKey || event.metaKey || event.altKey) return;
    const next = neighbor(current, event.key, event.currentTarget);
    if (next === undefined) return;
    event.preventDefault();
    next?.focus();
  };
}

/** Return the item to focus; null if there is none in this direction, undefined for other keys. */
function neighbor(current: HTMLElement, key: string, root: HTMLElement) {
  const lanes = [...root.querySelectorAll('[data-track]')]
    .map((track) => [...track.querySelectorAll<HTMLElement>('[data-item]')])
    .filter((items) => items.length);
  const lane = lanes.findIndex((items) => items.includes(current));
  const items = lanes[lane] ?? [];
  const at = items.indexOf(current);
  if (key === 'ArrowLeft') return items[at - 1] ?? null;
  if (key === 'ArrowRight') return items[at + 1] ?? null;
  if (key === 'ArrowUp') return nearest(lanes[lane - 1], current);
  if (key === 'ArrowDown') return nearest(lanes[lane + 1], current);
  return undefined;
}

function nearest(items: readonly HTMLElement[] | undefined, to: HTMLElement): HTMLElement | null {
  const distance = (item: HTMLElement) =>
    Math.abs(Number(item.dataset.from) - Number(to.dataset.from));
  return (items ?? []).reduce<HTMLElement | null>(
    (best, item) => (best && distance(best) <= distance(item) ? best : item),
    null,
  );
}
