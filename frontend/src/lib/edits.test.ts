import { describe, expect, it } from 'vitest';
import { changed, conflicting, keepMine, takeTheirs, touch, untouched } from './edits';

interface Thing {
  name: string;
  count: number;
  tags: string[];
}

const thing = (part: Partial<Thing> = {}): Thing => ({ name: 'a', count: 3, tags: [], ...part });
const renamed = touch(untouched<Thing>(), { name: 'b' }, thing());

describe('an edit', () => {
  it('differs in what was touched alone, whatever others change meanwhile', () => {
    const now = thing({ count: 9, tags: ['x'] });
    expect(changed(renamed, now)).toEqual(['name']);
    expect(conflicting(renamed, now)).toEqual([]);
  });

  it('is nothing once it is put back, or others came to the same', () => {
    expect(changed(touch(renamed, { name: 'a' }, thing()), thing())).toEqual([]);
    expect(conflicting(renamed, thing({ name: 'b' }))).toEqual([]);
  });

  it('remembers what a field said when it was first touched', () => {
    const again = touch(renamed, { name: 'c' }, thing({ name: 'theirs' }));
    expect(conflicting(again, thing({ name: 'theirs' }))).toEqual(['name']);
    expect(conflicting(again, thing())).toEqual([]);
  });

  it('compares by content', () => {
    const tagged = touch(untouched<Thing>(), { tags: ['x'] }, thing());
    expect(conflicting(tagged, thing({ tags: ['x'] }))).toEqual([]);
    expect(conflicting(tagged, thing({ tags: ['y'] }))).toEqual(['tags']);
  });

  it('is settled either way', () => {
    const now = thing({ name: 'theirs' });
    const mine = keepMine(renamed, ['name'], now);
    expect(conflicting(mine, now)).toEqual([]);
    expect(changed(mine, now)).toEqual(['name']);
    expect(changed(takeTheirs(renamed, ['name']), now)).toEqual([]);
  });
});
