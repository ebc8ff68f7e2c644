/** Keyboard shortcuts of all pages. Keys in input fields are ignored. */
import { useNavigate } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import { usePageAxis } from './PageAxis';

const JUMPS = { o: '/', d: '/databases', n: '/nodes', t: '/timeline', e: '/events' } as const;
const JUMP_WITHIN_MS = 1_000;

interface Handlers {
  onSearch: () => void;
  onHelp: () => void;
}

export function useShortcuts({ onSearch, onHelp }: Handlers): void {
  const navigate = useNavigate();
  const axis = usePageAxis();
  const jumpUntil = useRef(0);

  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      const jump = JUMPS[event.key as keyof typeof JUMPS];
      if (jump && Date.now() < jumpUntil.current) {
        jumpUntil.current = 0;
        void navigate({ to: jump });
      } else if (event.key === 'g') jumpUntil.current = Date.now() + JUMP_WITHIN_MS;
      else if (event.key === '/') onSearch();
      else if (event.key === '?') onHelp();
      else if (event.key === 'l') axis.toggleLive();
      else if (isShift(event)) axis.shift(event.key === 'ArrowLeft' ? -0.5 : 0.5);
      else return;
      event.preventDefault();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, [navigate, axis, onSearch, onHelp]);
}

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
