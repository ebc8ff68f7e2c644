import { describe, expect, it } from 'vitest';
import type { ImportReport } from '@/api/types';
import {
  canForce,
  filesError,
  type ImportValues,
  importedFiles,
  importRequest,
  inspectRequest,
  isAllowed,
  isStepComplete,
  keyError,
  NEW_IMPORT,
  withSourceType,
} from './importForm';

const DEMO = { name: 'demo', eviction_policy: 'noeviction' };
const MOUNTED: ImportValues = {
  ...withSourceType('mount_point'),
  source: { type: 'mount_point', fields: { path: '/mnt/dumps' } },
  files: ' a.rdb \n\nb.rdb.gz\n',
};
const URL_IMPORT: ImportValues = {
  ...NEW_IMPORT,
  source: {
    type: 'url',
    fields: { address: 'https://host/dump.rdb', user: 'ann', password: 'x' },
  },
};
const UPLOAD_IMPORT: ImportValues = {
  ...NEW_IMPORT,
  uploads: [
    { uid: 7, name: 'a.rdb' },
    { uid: 9, name: 'b.rdb' },
  ],
};

describe('the request for an import', () => {
  it('has one source per file', () => {
    expect(inspectRequest(MOUNTED)).toEqual({
      dataset_import_sources: [
        { type: 'mount_point', path: '/mnt/dumps', filename: 'a.rdb' },
        { type: 'mount_point', path: '/mnt/dumps', filename: 'b.rdb.gz' },
      ],
    });
  });

  it('has the uploaded files', () => {
    const sources = [7, 9].map((upload_uid) => ({ type: 'upload', upload_uid }));
    expect(inspectRequest(UPLOAD_IMPORT)).toEqual({ dataset_import_sources: sources });
    expect(importedFiles(UPLOAD_IMPORT)).toEqual(['a.rdb', 'b.rdb']);
  });

  it('has the URL with its credentials, which are not shown', () => {
    const { dataset_import_sources: sources } = inspectRequest(URL_IMPORT);
    expect(sources).toEqual([
      expect.objectContaining({ type: 'url', url: 'https://ann:x@host/dump.rdb' }),
    ]);
    expect(importedFiles(URL_IMPORT)).toEqual(['https://host/dump.rdb']);
  });
});

it('the requests contain the private keys of encrypted files', () => {
  const values = { ...MOUNTED, identities: ' AGE-SECRET-KEY-1A \n' };
  expect(inspectRequest(values).identities).toBe('AGE-SECRET-KEY-1A');
  expect(importRequest(values, 7).identities).toBe('AGE-SECRET-KEY-1A');
  expect(inspectRequest(MOUNTED)).not.toHaveProperty('identities');
});

it('the import refers to the inspection and to what the user accepts', () => {
  expect(importRequest({ ...MOUNTED, acceptLosses: true }, 7)).toEqual({
    ...inspectRequest(MOUNTED),
    inspection_uid: 7,
    accept_losses: true,
    force: false,
  });
});

describe('the report of the inspection', () => {
  const finding = (code: string) => ({ code, message: '', keys: 1 });
  const report = (problems: string[], losses: string[]) =>
    ({ problems: problems.map(finding), losses: losses.map(finding) }) as unknown as ImportReport;
  const NOTHING = { acceptLosses: false, force: false };
  const ALL = { acceptLosses: true, force: true };

  it('requires that losses are accepted', () => {
    expect(isAllowed(NOTHING, undefined, 'noeviction')).toBe(false);
    expect(isAllowed(NOTHING, report([], []), 'noeviction')).toBe(true);
    expect(isAllowed(NOTHING, report([], ['module_values']), 'noeviction')).toBe(false);
    expect(isAllowed(ALL, report([], ['module_values']), 'noeviction')).toBe(true);
  });

  it('can be overruled only if the database evicts keys', () => {
    const large = report(['file-larger-than-mem-limit'], []);
    expect(isAllowed(ALL, large, 'volatile-lru')).toBe(false);
    expect(isAllowed(NOTHING, large, 'allkeys-lru')).toBe(false);
    expect(isAllowed(ALL, large, 'allkeys-lru')).toBe(true);
    expect(canForce(report([], []), 'allkeys-lru')).toBe(false);
    const damaged = report(['file-larger-than-mem-limit', 'file-corrupted'], []);
    expect(isAllowed(ALL, damaged, 'allkeys-lru')).toBe(false);
  });
});

it('the error of a file that cannot be decrypted is found', () => {
  const report = (...codes: string[]) =>
    ({
      files: codes.map((error_code) => ({ error_code, error: error_code && 'a.rdb.age …' })),
    }) as unknown as ImportReport;
  expect(keyError(report('', 'wrong-key'))).toBe('a.rdb.age …');
  expect(keyError(report('', 'file-corrupted'))).toBeUndefined();
  expect(keyError(undefined)).toBeUndefined();
});

describe('a step of the import', () => {
  it('is complete if its values are', () => {
    expect(isStepComplete(NEW_IMPORT, 0, DEMO)).toBe(false);
    expect(isStepComplete(UPLOAD_IMPORT, 0, DEMO)).toBe(true);
    expect(isStepComplete(UPLOAD_IMPORT, 1, DEMO)).toBe(true);
    expect(isStepComplete(URL_IMPORT, 0, DEMO)).toBe(true);
    expect(isStepComplete(URL_IMPORT, 1, DEMO)).toBe(true);
    expect(isStepComplete({ ...MOUNTED, files: ' ' }, 1, DEMO)).toBe(false);
    expect(isStepComplete({ ...MOUNTED, files: '../a' }, 1, DEMO)).toBe(false);
    expect(isStepComplete(MOUNTED, 1, DEMO)).toBe(true);
    expect(isStepComplete(MOUNTED, 3, DEMO)).toBe(false);
    expect(isStepComplete({ ...MOUNTED, confirmation: 'demo' }, 3, DEMO)).toBe(true);
  });
});

it.each([
  ['a.rdb\n/b.rdb', /relative/],
  ['a/../../b.rdb', /relative/],
  ['a.rdb\na.rdb', /twice/],
  ['a.rdb\nb..rdb', undefined],
])('names of files are checked: %s', (files, error) => {
  if (error) expect(filesError({ files })).toMatch(error);
  else expect(filesError({ files })).toBeUndefined();
});
