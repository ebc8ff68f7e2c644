import { describe, expect, it } from 'vitest';
import { type Form, formOf } from './useForm';

interface Values {
  name: string;
  kind: 'a' | 'b';
  enabled: boolean;
  limit: string | number;
}

/** Return a form that stores changes, and a function that returns its current state. */
function startForm(): () => Form<Values> {
  let values: Values = { name: 'x', kind: 'a', enabled: false, limit: 5 };
  return () =>
    formOf(values, (part) => {
      values = { ...values, ...part };
    });
}

describe('a form', () => {
  it('binds texts and choices', () => {
    const form = startForm();
    expect(form().text('name').value).toBe('x');
    form()
      .text('name')
      .onChange({ currentTarget: { value: 'y' } });
    form()
      .text('kind')
      .onChange({ currentTarget: { value: 'b' } });
    expect(form().values).toEqual({ name: 'y', kind: 'b', enabled: false, limit: 5 });
  });

  it('binds switches', () => {
    const form = startForm();
    form()
      .check('enabled')
      .onChange({ currentTarget: { checked: true } });
    expect(form().check('enabled').checked).toBe(true);
  });

  it('binds inputs that call back with a value', () => {
    const form = startForm();
    form().value('limit').onChange('');
    expect(form().value('limit').value).toBe('');
  });

  it('sets several fields', () => {
    const form = startForm();
    form().set({ name: '', kind: 'b' });
    expect(form().values).toEqual({ name: '', kind: 'b', enabled: false, limit: 5 });
  });
});
