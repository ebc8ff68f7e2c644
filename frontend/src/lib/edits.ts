/**
 * What somebody edits of an object that others may change meanwhile, as a patch over it: only what was touched is sent, what others
 * change is seen, and what both changed is a conflict. Pure.
 */

export interface Edit<T> {
  /** What was typed. */
  patch: Partial<T>;
  /** What the fields said when they were first touched. */
  seen: Partial<T>;
}

export const untouched = <T>(): Edit<T> => ({ patch: {}, seen: {} });

const fieldsOf = <T extends object>(part: Partial<T>): (keyof T)[] =>
  Object.keys(part) as (keyof T)[];

const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);

export function touch<T extends object>(edit: Edit<T>, part: Partial<T>, now: T): Edit<T> {
  const seen = { ...edit.seen };
  for (const field of fieldsOf(part)) if (!(field in seen)) seen[field] = now[field];
  return { patch: { ...edit.patch, ...part }, seen };
}

/** The fields that differ from the object as it is now. */
export const changed = <T extends object>({ patch }: Edit<T>, now: T): (keyof T)[] =>
  fieldsOf(patch).filter((field) => !same(patch[field], now[field]));

/** What was touched here and changed elsewhere, to something else. */
export const conflicting = <T extends object>(edit: Edit<T>, now: T): (keyof T)[] =>
  changed(edit, now).filter((field) => field in edit.seen && !same(edit.seen[field], now[field]));

/** The reader's own value wins, knowingly. */
export function keepMine<T extends object>(
  edit: Edit<T>,
  fields: readonly (keyof T)[],
  now: T,
): Edit<T> {
  const seen = { ...edit.seen };
  for (const field of fields) seen[field] = now[field];
  return { ...edit, seen };
}

export function takeTheirs<T extends object>(edit: Edit<T>, fields: readonly (keyof T)[]): Edit<T> {
  const next = { patch: { ...edit.patch }, seen: { ...edit.seen } };
  for (const field of fields) {
    delete next.patch[field];
    delete next.seen[field];
  }
  return next;
}
