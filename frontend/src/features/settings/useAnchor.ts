/** Scrolling to a group of the page, and which group is visible. */
import { useEffect, useState } from 'react';

const USER_INPUT = ['wheel', 'touchstart', 'pointerdown', 'keydown'] as const;

/** Call a function now and when the height of the page changes. Returns a function that stops this. */
function onPageHeight(act: () => void): () => void {
  const observer = new ResizeObserver(act);
  observer.observe(document.body);
  return () => observer.disconnect();
}

/** Scroll to the element with the id. Content above it that loads later moves it, so scroll again until the user acts. */
export function useAnchor(id: string): void {
  useEffect(() => {
    if (!id) return;
    const stop = onPageHeight(() => document.getElementById(id)?.scrollIntoView());
    for (const name of USER_INPUT) window.addEventListener(name, stop, { passive: true });
    return () => {
      stop();
      for (const name of USER_INPUT) window.removeEventListener(name, stop);
    };
  }, [id]);
}

/** Distance in pixels below the top of the window at which a group counts as visible. */
const READING_LINE = 140;

/** Return the id of the group at the top of the window, or of the last group at the end of the page. */
export function useVisibleGroup(ids: readonly string[]): string | undefined {
  const [visible, setVisible] = useState<string>();
  const key = ids.join();
  useEffect(() => {
    const measure = () => {
      const groups = key.split(',').flatMap((id) => document.getElementById(id) ?? []);
      const bottom = window.scrollY + window.innerHeight;
      const isAtEnd = window.scrollY > 0 && bottom >= document.documentElement.scrollHeight - 2;
      const started = groups.filter((group) => group.getBoundingClientRect().top <= READING_LINE);
      setVisible((isAtEnd ? groups.at(-1) : (started.at(-1) ?? groups[0]))?.id);
    };
    const stop = onPageHeight(measure);
    window.addEventListener('scroll', measure, { passive: true });
    return () => {
      stop();
      window.removeEventListener('scroll', measure);
    };
  }, [key]);
  return visible;
}
