import { describe, expect, it } from 'vitest';
import { patternsOf, type RestoreValues, restoreRequest, slotsError } from './restoreForm';

const VALUES: RestoreValues = {
  backup: 3,
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
    expect(restoreRequest(VALUES, 'demo')).toEqual({ backup_uid: 3, mode: 'merge' });
  });

  it('contains the patterns', () => {
    expect(restoreRequest({ ...VALUES, patterns: 'user:*\n\n session:? \n' }, 'demo')).toEqual({
      backup_uid: 3,
      mode: 'merge',
      key_patterns: ['user:*', ' session:? '],
    });
  });

  it('contains the private keys of an encrypted backup', () => {
    expect(restoreRequest({ ...VALUES, identities: ' AGE-SECRET-KEY-1A \n' }, 'demo')).toEqual({
      backup_uid: 3,
      mode: 'merge',
      identities: 'AGE-SECRET-KEY-1A',
    });
  });

  it('contains valid slots only', () => {
    const selected = restoreRequest({ ...VALUES, slots: ' 0-5460, 6000' }, 'demo');
    expect(selected).toEqual({ backup_uid: 3, mode: 'merge', slots: '0-5460,6000' });
    expect(restoreRequest({ ...VALUES, slots: '5-1' }, 'demo')).toBeUndefined();
    for (const text of ['', '7', '0-16383']) expect(slotsError(text)).toBeUndefined();
    for (const text of ['16384', '1-', '1,,2', 'a', '-1']) expect(slotsError(text)).toBeDefined();
  });

  it('requires the name of the database if its keys are deleted', () => {
    const replace: RestoreValues = { ...VALUES, mode: 'replace' };
    expect(restoreRequest(replace, 'demo')).toBeUndefined();
    expect(restoreRequest({ ...replace, confirmation: 'other' }, 'demo')).toBeUndefined();
    expect(restoreRequest({ ...replace, confirmation: 'demo' }, 'demo')).toEqual({
      backup_uid: 3,
      mode: 'replace',
    });
  });

  it('can skip the check of the files if keys are deleted', () => {
    const unchecked = { ...VALUES, verify: false };
    expect(restoreRequest(unchecked, 'demo')).not.toHaveProperty('verify_files');
    const replace: RestoreValues = { ...unchecked, mode: 'replace', confirmation: 'demo' };
    expect(restoreRequest(replace, 'demo')).toMatchObject({ verify_files: false });
  });

  it('can exceed the memory limit', () => {
    expect(restoreRequest({ ...VALUES, force: true }, 'demo')).toMatchObject({ force: true });
  });

  it('requires a backup', () => {
    expect(restoreRequest({ ...VALUES, backup: null }, 'demo')).toBeUndefined();
  });
});

it('patterns are lines that are not blank', () => {
  expect(patternsOf('a*\r\n  \r\nb c')).toEqual(['a*', 'b c']);
});
