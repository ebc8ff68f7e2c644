import { describe, expect, it } from 'vitest';
import { deleteDeniedReason, foundText, locationUse, usedByText } from './locationText';

const BDBS = [
  { uid: 1, name: 'demo' },
  { uid: 2, name: 'shop' },
];

describe('the databases that use a location', () => {
  it('are named, or counted if they are many', () => {
    expect(usedByText([], BDBS)).toBe('');
    expect(usedByText([2, 1, 7], BDBS)).toBe('shop, demo, database 7');
    expect(usedByText([1, 2, 3, 4], BDBS).replace('\u00a0', ' ')).toBe('4 databases');
  });
});

describe('a location', () => {
  const backups = [
    { location_uid: 5, bytes: 10 },
    { location_uid: 5, bytes: 20 },
    { location_uid: null, bytes: 40 },
  ];

  it('has the size of its backups', () => {
    expect(locationUse({ uid: 5, used_by: [1] }, BDBS, backups)).toEqual({
      schedules: 'demo',
      count: 2,
      bytes: 30,
    });
  });

  it('is used by the schedule of the console', () => {
    const schedules = (used_by: number[]) =>
      locationUse({ uid: 5, used_by }, BDBS, [], 5).schedules;
    expect(schedules([])).toBe('the console');
    expect(schedules([1])).toBe('demo, the console');
    expect(locationUse({ uid: 6, used_by: [] }, BDBS, [], 5).schedules).toBe('');
  });

  it('can be deleted if no schedule uses it and it contains no backup', () => {
    const reason = (uid: number, used_by: number[]) =>
      deleteDeniedReason(locationUse({ uid, used_by }, BDBS, backups))?.replace('\u00a0', ' ');
    expect(reason(6, [])).toBeUndefined();
    expect(reason(5, [])).toBe('It contains 2 backups. Delete them first');
    expect(reason(6, [1])).toBe('The schedule of demo uses it. Change the schedule first');
  });
});

it('the result of a search for backups says whether there are more', () => {
  expect(foundText({ added: [], has_more: false })).toBe('No further backups found');
  expect(foundText({ added: [4], has_more: false }).replace('\u00a0', ' ')).toBe('1 backup added');
  expect(foundText({ added: [4, 5], has_more: true })).toMatch(/search again$/);
});
