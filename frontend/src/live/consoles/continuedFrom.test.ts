// @dom
import { describe, expect, it, vi } from 'vitest';
import { continuedFromFragment } from './continuedFrom';

describe('continuedFrom', () => {
  it('is read from the fragment, which is removed', async () => {
    history.replaceState(null, '', `/nodes?range=60${continuedFromFragment('a b')}`);
    vi.resetModules();
    const { continuedFrom } = await import('./continuedFrom');
    expect(continuedFrom.get()).toBe('a b');
    expect(location.pathname + location.search + location.hash).toBe('/nodes?range=60');
    history.replaceState(null, '', '/');
  });
});
