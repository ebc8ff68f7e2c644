/** All cells are one tab stop. Arrow keys move the focus to the nearest cell in their direction. */
import { type KeyboardEvent, useCallback } from 'react';

const STEPS: Record<string, readonly [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

export function useArrowKeys() {
  return useCallback((event: KeyboardEvent<HTMLElement>) => {
    const step = STEPS[event.key];
    const from = event.target;
    if (!step || !(from instanceof HTMLElement) || !from.matches('button[data-shard]')) return;
    event.preventDefault();
    const next = nearest(event.currentTarget, from, step);
    if (!next) return;
    from.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
  }, []);
}

function nearest(
  root: HTMLElement,
  from: HTMLElement,
  [dx, dy]: readonly [number, number],
): HTMLElement | undefined {
  const origin = center(from);
  let best: HTMLElement | undefined;
  let bestCost = Number.POSITIVE_INFINITY;
  for (const cell of root.querySelectorAll<HTMLElement>('button[data-shard]')) {
    if (cell === from) continue;
    const { x, y } = center(cell);
    const ahead = (x - origin.x) * dx + (y - origin.y) * dy;
    const sideways = Math.abs((x - origin.x) * dy) + Math.abs((y - origin.y) * dx);
    // Prefer cells in line with the origin, even if they are farther away.
    const cost = ahead + sideways * 3;
    if (ahead > 2 && cost < bestCost) {
      bestCost = cost;
      best = cell;
    }
  }
  return best;
}

function center(element: HTMLElement): { x: number; y: number } {
  const { left, top, width, height } = element.getBoundingClientRect();
  return { x: left + width / 2, y: top + height / 2 };
}
