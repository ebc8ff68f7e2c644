// @dom
import { expect, it } from 'vitest';
import { printing } from '@/lib/printing';
import { preparePrinting } from './preparePrinting';

it('uses the light theme and renders all content while the browser prints', () => {
  const scheme = () => document.documentElement.getAttribute('data-mantine-color-scheme');
  document.documentElement.setAttribute('data-mantine-color-scheme', 'dark');
  preparePrinting();
  window.dispatchEvent(new Event('beforeprint'));
  expect([scheme(), printing.get()]).toEqual(['light', true]);
  window.dispatchEvent(new Event('afterprint'));
  expect([scheme(), printing.get()]).toEqual(['dark', false]);
});
