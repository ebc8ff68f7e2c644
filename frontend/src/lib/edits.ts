/**
 * Edits of an object that other users can change at the same time, as a patch: only edited fields are sent, changes of others are
 * visible, and a field that both changed is a conflict. Pure.
 */

export interface Edit<T> {
  /** Edited values. */
  patch: Partial<T>;
  /** Values of the fields when they were first edited. */
  seen: Partial<T>;
}

export const emptyEdit = <T>(): Edit<T> => ({ patch: {}, seen: {} });

const fieldsOf = <T extends object>(part: Partial<T>): (keyof T)[] =>
  Object.keys(part) as (keyof T)[];

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

export function editFields<T extends object>(edit: Edit<T>, part: Partial<T>, now: T): Edit<T> {
  const seen = { ...edit.seen };
  for (const field of fieldsOf(part)) if (!(field in seen)) seen[field] = now[field];
  return { patch: { ...edit.patch, ...part }, seen };
}

/** Return the edited fields that differ from the current object. */
export const changedFields = <T extends object>({ patch }: Edit<T>, now: T): (keyof T)[] =>
  fieldsOf(patch).filter((field) => !same(patch[field], now[field]));

/** Return the edited fields that another user changed to a different value. */
export const conflictingFields = <T extends object>(edit: Edit<T>, now: T): (keyof T)[] =>
  changedFields(edit, now).filter(
    (field) => field in edit.seen && !same(edit.seen[field], now[field]),
  );

/** Resolve conflicts in favor of the edited values. */
export function keepEditedFields<T extends object>(
  edit: Edit<T>,
  fields: readonly (keyof T)[],
  now: T,
): Edit<T> {
  const seen = { ...edit.seen };
  for (const field of fields) seen[field] = now[field];
  return { ...edit, seen };
}

export function discardFields<T extends object>(
  edit: Edit<T>,
  fields: readonly (keyof T)[],
): Edit<T> {
  const next = { patch: { ...edit.patch }, seen: { ...edit.seen } };
  for (const field of fields) {
    delete next.patch[field];
    delete next.seen[field];
  }
  return next;
}
