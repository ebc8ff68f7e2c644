// @dom
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { hasUsedForm, watchInput } from './unsavedInput';

describe('hasUsedForm', () => {
  let stop: () => void;
  beforeEach(() => {
    document.body.innerHTML = '<input id="filter"><form><input id="name"></form>';
    stop = watchInput();
  });
  afterEach(() => {
    stop();
    document.body.replaceChildren();
  });
  const use = (id: string, event: string) =>
    document.getElementById(id)?.dispatchEvent(new Event(event, { bubbles: true }));

  it('is true after the user has typed or clicked in a form, until it is closed', () => {
    for (const event of ['input', 'keydown', 'pointerdown']) {
      document.body.innerHTML = '<form><input id="name"></form>';
      expect(hasUsedForm()).toBe(false);
      use('name', event);
      expect(hasUsedForm()).toBe(true);
      document.body.replaceChildren();
      expect(hasUsedForm()).toBe(false);
    }
  });

  it('is true for a field that belongs to a form elsewhere on the page', () => {
    document.body.innerHTML = '<form id="policy"></form><input id="name" form="policy">';
    use('name', 'input');
    expect(hasUsedForm()).toBe(true);
  });

  it('ignores filters, which are in the URL', () => {
    use('filter', 'input');
    expect(hasUsedForm()).toBe(false);
  });

  it('ends with the page', () => {
    stop();
    use('name', 'input');
    expect(hasUsedForm()).toBe(false);
  });
});
