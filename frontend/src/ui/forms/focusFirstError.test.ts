// @dom
import { expect, it, vi } from 'vitest';
import { focusFirstError } from './focusFirstError';

it.each([
  ['an input', '<input><input id="x" aria-invalid="true"><input aria-invalid="true">'],
  ['a control of a group', '<input><div data-invalid="true"><button id="x"></button></div>'],
])('focuses the first invalid field: %s', (_, fields) => {
  vi.stubGlobal('requestAnimationFrame', (run: () => void) => run());
  const form = document.createElement('form');
  form.innerHTML = fields;
  document.body.append(form);
  focusFirstError(form);
  expect(document.activeElement?.id).toBe('x');
  form.remove();
});
