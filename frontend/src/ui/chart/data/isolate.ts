/** Return which series are visible after a click on a legend entry: only this one, or all if it already is the only one. With shift (`add`), it is added or removed. Pure. */
export function isolate(
  now: readonly boolean[],
  count: number,
  index: number,
  add: boolean,
): readonly boolean[] {
  const current = Array.from({ length: count }, (_, i) => now[i] ?? true);
  if (add) return current.map((on, i) => (i === index ? !on : on));
  const alone = current.every((on, i) => on === (i === index));
  return current.map((_, i) => alone || i === index);
}
