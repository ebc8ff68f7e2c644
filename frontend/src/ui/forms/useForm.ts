/** State of a form: the values of its fields, and props that bind inputs to them. */
import { useState } from 'react';

/** Names of the fields of T whose values have the type V. */
type FieldsOf<T, V> = { [K in keyof T]: T[K] extends V ? K : never }[keyof T];

export interface Form<T> {
  values: T;
  set: (part: Partial<T>) => void;
  /** Return the props of a text input or a list of choices. */
  text: <K extends FieldsOf<T, string>>(
    name: K,
  ) => { value: T[K]; onChange: (event: { currentTarget: { value: string } }) => void };
  /** Return the props of a checkbox or switch. */
  check: <K extends FieldsOf<T, boolean>>(
    name: K,
  ) => { checked: T[K]; onChange: (event: { currentTarget: { checked: boolean } }) => void };
  /** Return the props of an input that calls `onChange` with the value, such as `NumberInput`. */
  value: <K extends keyof T>(name: K) => { value: T[K]; onChange: (value: T[K]) => void };
}

export function useForm<T extends object>(initial: T | (() => T)): Form<T> {
  const [values, setValues] = useState(initial);
  return formOf(values, (part) => setValues((now) => ({ ...now, ...part })));
}

/** Return the form with these values. `set` stores changed values. Pure, for tests without a DOM. */
export function formOf<T extends object>(values: T, set: (part: Partial<T>) => void): Form<T> {
  const setField = <K extends keyof T>(name: K, value: T[K]) =>
    set({ [name]: value } as unknown as Partial<T>);
  return {
    values,
    set,
    text: <K extends FieldsOf<T, string>>(name: K) => ({
      value: values[name],
      onChange: (event: { currentTarget: { value: string } }) =>
        setField(name, event.currentTarget.value as T[K]),
    }),
    check: <K extends FieldsOf<T, boolean>>(name: K) => ({
      checked: values[name],
      onChange: (event: { currentTarget: { checked: boolean } }) =>
        setField(name, event.currentTarget.checked as T[K]),
    }),
    value: (name) => ({ value: values[name], onChange: (value) => setField(name, value) }),
  };
}
