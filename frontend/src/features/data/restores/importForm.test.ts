import { describe, expect, it } from 'vitest';
import {
  filesError,
  type ImportValues,
  importedFiles,
  importRequest,
  isStepComplete,
  NEW_IMPORT,
  withSourceType,
} from './importForm';

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

describe('the request for an import', () => {
  it('has one source per file', () => {
    expect(importRequest(MOUNTED)).toEqual({
      dataset_import_sources: [
        { type: 'mount_point', path: '/mnt/dumps', filename: 'a.rdb' },
        { type: 'mount_point', path: '/mnt/dumps', filename: 'b.rdb.gz' },
      ],
    });
  });

  it('has the URL with its credentials, which are not shown', () => {
    const { dataset_import_sources: sources } = importRequest(URL_IMPORT);
    expect(sources).toEqual([
      expect.objectContaining({ type: 'url', url: 'https://ann:x@host/dump.rdb' }),
    ]);
    expect(importedFiles(URL_IMPORT)).toEqual(['https://host/dump.rdb']);
  });
});

describe('a step of the import', () => {
  it('is complete if its values are', () => {
    expect(isStepComplete(NEW_IMPORT, 0, 'demo')).toBe(false);
    expect(isStepComplete(URL_IMPORT, 0, 'demo')).toBe(true);
    expect(isStepComplete(URL_IMPORT, 1, 'demo')).toBe(true);
    expect(isStepComplete({ ...MOUNTED, files: ' ' }, 1, 'demo')).toBe(false);
    expect(isStepComplete({ ...MOUNTED, files: '../a' }, 1, 'demo')).toBe(false);
    expect(isStepComplete(MOUNTED, 1, 'demo')).toBe(true);
    expect(isStepComplete(MOUNTED, 2, 'demo')).toBe(false);
    expect(isStepComplete({ ...MOUNTED, confirmation: 'demo' }, 2, 'demo')).toBe(true);
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
