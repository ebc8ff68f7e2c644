// @dom
import { expect, it, vi } from 'vitest';
import { continuedFromFragment } from './continuedFrom';

it.each([
  [continuedFromFragment('a1'), 'a1'],
  ['#continued-from=%', null],
])('reads %s and removes it from the URL', async (fragment, expected) => {
  history.replaceState(null, '', `/nodes?range=60${fragment}`);
  vi.resetModules();
  const { continuedFrom } = await import('./continuedFrom');
  expect(continuedFrom.get()).toBe(expected);
  expect(location.pathname + location.search + location.hash).toBe('/nodes?range=60');
  history.replaceState(null, '', '/');
});
