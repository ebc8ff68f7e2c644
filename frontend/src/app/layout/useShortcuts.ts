/** Keyboard shortcuts of all pages. Except for Ctrl-K, keys in input fields are ignored. */
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { useHasTimeAxis, usePageAxis } from './PageAxis';

const JUMPS = {
  o: '/',
  d: '/databases',
  n: '/nodes',
  a: '/activity',
  b: '/benchmarks',
  s: '/settings',
  t: '/activity/timeline',
  e: '/activity/events',
} as const;
const JUMP_WITHIN_MS = 1_000;

interface Handlers {
  onSearch: () => void;
  onHelp: () => void;
}

export function useShortcuts({ onSearch, onHelp }: Handlers): void {
  const navigate = useNavigate();
  const axis = usePageAxis();
  const hasTimeAxis = useHasTimeAxis();
  const jumpUntil = useRef(0);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (isPaletteKey(event) && !isInDialog(event.target)) {
        event.preventDefault();
        onSearch();
        return;
      }
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const jump = JUMPS[event.key as keyof typeof JUMPS];
      if (jump && Date.now() < jumpUntil.current) {
        jumpUntil.current = 0;
        void navigate({ to: jump });
      } else if (event.key === 'g') jumpUntil.current = Date.now() + JUMP_WITHIN_MS;
      else if (event.key === '/') onSearch();
      else if (event.key === '?') onHelp();
      else if (hasTimeAxis && event.key === 'l') axis.toggleLive();
      else if (hasTimeAxis && isShift(event)) axis.shift(event.key === 'ArrowLeft' ? -0.5 : 0.5);
      else return;
      event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [navigate, axis, hasTimeAxis, onSearch, onHelp]);
}

/** Ctrl-K, which also works in text fields. */
const isPaletteKey = ({ key, ctrlKey, metaKey, altKey, shiftKey }: KeyboardEvent): boolean =>
  key.toLowerCase() === 'k' && (ctrlKey || metaKey) && !altKey && !shiftKey;

const isInDialog = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('[role="dialog"]') !== null;

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return (
    target.isContentEditable ||
    target.closest('input, textarea, select, [role="dialog"], [role="menu"]') !== null
  );
}

/** Return whether a key shifts the time range. Arrow keys belong to the focused control, if any. */
function isShift(event: KeyboardEvent): boolean {
  const free = event.target === document.body || (event.target as Element)?.id === 'content';
  return free && (event.key === 'ArrowLeft' || event.key === 'ArrowRight');
}
