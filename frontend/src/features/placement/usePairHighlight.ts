/** Highlights the replication pair of the shard under the pointer and dims the others. Sets attributes instead of rendering. */
import { type RefObject, useEffect } from 'react';

export function usePairHighlight(root: RefObject<HTMLElement | null>): void {
  useEffect(() => {
    const container = root.current;
    if (!container) return;
    let current: string | undefined;
    const highlight = (target: EventTarget | null) => {
      const pair =
        target instanceof Element
          ? target.closest<HTMLElement>('[data-pair]')?.dataset.pair
          : undefined;
      if (pair === current) return;
      current = pair;
      for (const element of container.querySelectorAll('[data-hot]')) {
        element.removeAttribute('data-hot');
      }
      container.toggleAttribute('data-pointing', pair !== undefined);
      if (pair === undefined) return;
      for (const element of container.querySelectorAll(`[data-pair="${pair}"]`)) {
        element.setAttribute('data-hot', '');
      }
    };
    const onPointerOver = (event: Event) => highlight(event.target);
    const out = () => highlight(null);
    container.addEventListener('pointerover', onPointerOver);
    container.addEventListener('pointerleave', out);
    container.addEventListener('focusin', onPointerOver);
    container.addEventListener('focusout', out);
    return () => {
      container.removeEventListener('pointerover', onPointerOver);
      container.removeEventListener('pointerleave', out);
      container.removeEventListener('focusin', onPointerOver);
      container.removeEventListener('focusout', out);
    };
  }, [root]);
}
