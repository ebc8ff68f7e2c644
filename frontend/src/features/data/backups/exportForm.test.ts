import { expect, it } from 'vitest';
import { type ExportValues, exportRequest, NEW_EXPORT } from './exportForm';

const VALUES: ExportValues = {
  ...NEW_EXPORT,
  location: { type: 'mount_point', fields: { path: '/srv/exports' } },
};

it('an export needs a complete location', () => {
  expect(exportRequest(NEW_EXPORT)).toBeUndefined();
  expect(exportRequest(VALUES)).toEqual({
    export_location: { type: 'mount_point', path: '/srv/exports' },
  });
});

it('an export is encrypted for the public keys', () => {
  const encrypted = { ...VALUES, recipients: ' age1abc\n\nage1def ' };
  expect(exportRequest(encrypted)?.recipients).toEqual(['age1abc', 'age1def']);
  const invalid = ['AGE-SECRET-KEY-1ABC', 'ssh-ed25519 AAAA', 'age1abc\nx'];
  for (const recipients of invalid)
    expect(exportRequest({ ...VALUES, recipients })).toBeUndefined();
});
