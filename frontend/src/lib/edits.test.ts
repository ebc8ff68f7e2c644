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
  it('contains only edited fields if other users change other fields', () => {
    const now = thing({ count: 9, tags: ['x'] });
    expect(changed(renamed, now)).toEqual(['name']);
    expect(conflicting(renamed, now)).toEqual([]);
  });

  it('is empty if a value was reverted or another user made the same change', () => {
    expect(changed(touch(renamed, { name: 'a' }, thing()), thing())).toEqual([]);
    expect(conflicting(renamed, thing({ name: 'b' }))).toEqual([]);
  });

  it('stores the value of a field when it was first edited', () => {
    const again = touch(renamed, { name: 'c' }, thing({ name: 'theirs' }));
    expect(conflicting(again, thing({ name: 'theirs' }))).toEqual(['name']);
    expect(conflicting(again, thing())).toEqual([]);
  });

  it('compares by content', () => {
    const tagged = touch(untouched<Thing>(), { tags: ['x'] }, thing());
    expect(conflicting(tagged, thing({ tags: ['x'] }))).toEqual([]);
    expect(conflicting(tagged, thing({ tags: ['y'] }))).toEqual(['tags']);
  });

  it('can be resolved in both directions', () => {
    const now = thing({ name: 'theirs' });
    const mine = keepMine(renamed, ['name'], now);
    expect(conflicting(mine, now)).toEqual([]);
    expect(changed(mine, now)).toEqual(['name']);
    expect(changed(takeTheirs(renamed, ['name']), now)).toEqual([]);
  });
});
