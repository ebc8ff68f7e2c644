import { describe, expect, it } from 'vitest';
import { patternsOf, type RestoreValues, restoreRequest, slotsError } from './restoreForm';

const VALUES: RestoreValues = {
  point: 'backup',
  backup: 3,
  until: null,
  target: 1,
  mode: 'merge',
  patterns: '',
  identities: '',
  slots: '',
  force: false,
  verify: true,
  confirmation: '',
};

describe('the request for a restore', () => {
  it('restores all keys if no pattern is entered', () => {
    expect(restoreRequest(VALUES, 'demo', 1)).toEqual({ backup_uid: 3, mode: 'merge' });
  });

  it('contains the patterns', () => {
    expect(restoreRequest({ ...VALUES, patterns: 'user:*\n\n session:? \n' }, 'demo', 1)).toEqual({
      backup_uid: 3,
      mode: 'merge',
      key_patterns: ['user:*', ' session:? '],
    });
  });

  it('contains the private keys of an encrypted backup', () => {
    expect(restoreRequest({ ...VALUES, identities: ' AGE-SECRET-KEY-1A \n' }, 'demo', 1)).toEqual({
      backup_uid: 3,
      mode: 'merge',
      identities: 'AGE-SECRET-KEY-1A',
    });
  });

  it('contains valid slots only', () => {
    const selected = restoreRequest({ ...VALUES, slots: ' 0-5460, 6000' }, 'demo', 1);
    expect(selected).toEqual({ backup_uid: 3, mode: 'merge', slots: '0-5460,6000' });
    expect(restoreRequest({ ...VALUES, slots: '5-1' }, 'demo', 1)).toBeUndefined();
    for (const text of ['', '7', '0-16383']) expect(slotsError(text)).toBeUndefined();
    for (const text of ['16384', '1-', '1,,2', 'a', '-1']) expect(slotsError(text)).toBeDefined();
  });

  it('requires the name of the database if its keys are deleted', () => {
    const replace: RestoreValues = { ...VALUES, mode: 'replace' };
    expect(restoreRequest(replace, 'demo', 1)).toBeUndefined();
    expect(restoreRequest({ ...replace, confirmation: 'other' }, 'demo', 1)).toBeUndefined();
    expect(restoreRequest({ ...replace, confirmation: 'demo' }, 'demo', 1)).toEqual({
      backup_uid: 3,
      mode: 'replace',
    });
  });

  it('can skip the check of the files if keys are deleted', () => {
    const unchecked = { ...VALUES, verify: false };
    expect(restoreRequest(unchecked, 'demo', 1)).not.toHaveProperty('verify_files');
    const replace: RestoreValues = { ...unchecked, mode: 'replace', confirmation: 'demo' };
    expect(restoreRequest(replace, 'demo', 1)).toMatchObject({ verify_files: false });
  });

  it('can exceed the memory limit', () => {
    expect(restoreRequest({ ...VALUES, force: true }, 'demo', 1)).toMatchObject({ force: true });
  });

  it('names a point in time and its database, and always replaces all keys', () => {
    const values: RestoreValues = {
      ...VALUES,
      point: 'time',
      until: Date.parse('2026-11-30T18:00:00Z'),
    };
    expect(restoreRequest(values, 'demo', 7)).toBeUndefined();
    expect(restoreRequest({ ...values, confirmation: 'demo' }, 'demo', 7)).toEqual({
      until: '2026-11-30T18:00:00.000Z',
      source_bdb_uid: 7,
      mode: 'replace',
    });
    expect(
      restoreRequest({ ...values, confirmation: 'demo', until: Number.NaN }, 'demo', 7),
    ).toBeUndefined();
  });

  it('requires a backup', () => {
    expect(restoreRequest({ ...VALUES, backup: null }, 'demo', 1)).toBeUndefined();
  });
});

it('patterns are lines that are not blank', () => {
  expect(patternsOf('a*\r\n  \r\nb c')).toEqual(['a*', 'b c']);
});
