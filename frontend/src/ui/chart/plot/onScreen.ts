/** Draws only visible elements. Others are drawn when they become visible. */

export interface OnScreen {
  draw: () => void;
  stop: () => void;
}

/** Elements this close to the viewport count as visible, so that charts are drawn before they are scrolled into view. */
const MARGIN = '150px';

export function onScreen(element: Element, draw: () => void): OnScreen {
  // Until the observer reports, the element counts as visible.
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
