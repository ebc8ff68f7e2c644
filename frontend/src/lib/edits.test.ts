import { describe, expect, it } from 'vitest';
import {
  changedFields,
  conflictingFields,
  discardFields,
  editFields,
  emptyEdit,
  keepEditedFields,
} from './edits';

interface Thing {
  name: string;
  count: number;
  tags: string[];
}

const thing = (part: Partial<Thing> = {}): Thing => ({ name: 'a', count: 3, tags: [], ...part });
const renamed = editFields(emptyEdit<Thing>(), { name: 'b' }, thing());

describe('an edit', () => {
  it('contains only edited fields if other users change other fields', () => {
    const now = thing({ count: 9, tags: ['x'] });
    expect(changedFields(renamed, now)).toEqual(['name']);
    expect(conflictingFields(renamed, now)).toEqual([]);
  });

  it('is empty if a value was reverted or another user made the same change', () => {
    expect(changedFields(editFields(renamed, { name: 'a' }, thing()), thing())).toEqual([]);
    expect(conflictingFields(renamed, thing({ name: 'b' }))).toEqual([]);
  });

  it('stores the value of a field when it was first edited', () => {
    const again = editFields(renamed, { name: 'c' }, thing({ name: 'theirs' }));
    expect(conflictingFields(again, thing({ name: 'theirs' }))).toEqual(['name']);
    expect(conflictingFields(again, thing())).toEqual([]);
  });

  it('compares by content', () => {
    const tagged = editFields(emptyEdit<Thing>(), { tags: ['x'] }, thing());
    expect(conflictingFields(tagged, thing({ tags: ['x'] }))).toEqual([]);
    expect(conflictingFields(tagged, thing({ tags: ['y'] }))).toEqual(['tags']);
  });

  it('can be resolved in both directions', () => {
    const now = thing({ name: 'theirs' });
    const mine = keepEditedFields(renamed, ['name'], now);
    expect(conflictingFields(mine, now)).toEqual([]);
    expect(changedFields(mine, now)).toEqual(['name']);
    expect(changedFields(discardFields(renamed, ['name']), now)).toEqual([]);
  });
});
