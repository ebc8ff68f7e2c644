import { describe, expect, it } from 'vitest';
import { patternsOf, type RestoreValues, restoreRequest } from './restoreForm';

const VALUES: RestoreValues = {
  backup: 3,
  target: 1,
  mode: 'merge',
  patterns: '',
  identities: '',
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

  it('requires the name of the database if its keys are deleted', () => {
    const replace: RestoreValues = { ...VALUES, mode: 'replace' };
    expect(restoreRequest(replace, 'demo')).toBeUndefined();
    expect(restoreRequest({ ...replace, confirmation: 'other' }, 'demo')).toBeUndefined();
    expect(restoreRequest({ ...replace, confirmation: 'demo' }, 'demo')).toEqual({
      backup_uid: 3,
      mode: 'replace',
    });
  });

  it('requires a backup', () => {
    expect(restoreRequest({ ...VALUES, backup: null }, 'demo')).toBeUndefined();
  });
});

it('patterns are lines that are not blank', () => {
  expect(patternsOf('a*\r\n  \r\nb c')).toEqual(['a*', 'b c']);
});
