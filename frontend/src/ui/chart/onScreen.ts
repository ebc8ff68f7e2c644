/** Draws only what can be seen: a canvas out of sight is drawn when it comes into sight. */

export interface OnScreen {
  draw: () => void;
  stop: () => void;
}

/** Close to the edge counts as visible, so that scrolling finds charts drawn. */
const MARGIN = '150px';

export function onScreen(element: Element, draw: () => void): OnScreen {
  // Until the observer has looked, everything may be visible.
  let visible = true;
  let stale = false;
  const observer = new IntersectionObserver(
    (entries) => {
      visible = entries.at(-1)?.isIntersecting ?? true;
      if (!visible || !stale) return;
      stale = false;
      draw();
    },
    { rootMargin: MARGIN },
  );
  observer.observe(element);
  return {
    draw: () => {
      if (visible) draw();
      else stale = true;
    },
    stop: () => observer.disconnect(),
  };
}
