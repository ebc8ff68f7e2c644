import { describe, expect, it } from 'vitest';
import type { BackupLocation } from '@/api/types';
import {
  credentialsError,
  fieldError,
  isComplete,
  keepsSecrets,
  locationRequest,
  locationSettings,
  locationValues,
  placeText,
} from './locationForm';
import { LOCATION_CHOICES, LOCATION_TYPES, type LocationTypeName } from './locationTypes';

const values = (type: LocationTypeName, fields: Record<string, string | boolean> = {}) => ({
  type,
  fields,
});
const S3 = { bucket_name: 'backups', access_key_id: 'AKIA', secret_access_key: 'hidden' };

describe('the request for a location', () => {
  it('contains all fields of its type, without spaces around them', () => {
    expect(locationRequest(' nas ', values('mount_point', { path: ' /mnt/nas ' }))).toEqual({
      name: 'nas',
      location: { type: 'mount_point', path: '/mnt/nas' },
    });
  });

  it('does not contain fields of another type', () => {
    const { location } =
      locationRequest('nas', values('mount_point', { ...S3, path: '/mnt' })) ?? {};
    expect(location).toEqual({ type: 'mount_point', path: '/mnt' });
  });

  it('omits empty secrets, so that stored ones are kept, but not other empty fields', () => {
    const location = locationSettings(values('s3', { ...S3, secret_access_key: '' }));
    expect(location).not.toHaveProperty('secret_access_key');
    expect(location).toMatchObject({ access_key_id: 'AKIA', endpoint: '', path_style: false });
  });

  it('is incomplete without a name or a required field', () => {
    expect(locationRequest('', values('mount_point', { path: '/mnt' }))).toBeUndefined();
    expect(locationRequest('nas', values('mount_point'))).toBeUndefined();
    expect(locationRequest('cloud', values('s3', { ...S3, bucket_name: ' ' }))).toBeUndefined();
  });

  it.each(['ftp', 'sftp'] as const)('contains user and password in the URL of %s', (type) => {
    const { field } = LOCATION_TYPES[type].url;
    const fields = { address: `${type}://host:2121/a`, user: 'ann', password: 'p@ss:/ä' };
    expect(locationSettings(values(type, fields))[field]).toBe(
      `${type}://ann:p%40ss%3A%2F%C3%A4@host:2121/a`,
    );
  });
});

const storedAs = (location: object) => ({ location: location as BackupLocation['location'] });

describe('the values of a stored location', () => {
  it('make the same request again, except for the secrets', () => {
    const stored = storedAs({
      type: 's3',
      bucket_name: 'b',
      path_style: true,
      endpoint: 'https://minio',
    });
    expect(locationRequest('x', locationValues(stored), true)?.location).toMatchObject(
      stored.location,
    );
  });

  it('contain the user of a URL, but the password must be entered or is kept', () => {
    const stored = storedAs({ type: 'sftp', sftp_url: 'sftp://a%40b@host' });
    const read = locationValues(stored);
    expect(read.fields).toMatchObject({ address: 'sftp://host', user: 'a@b' });
    expect(isComplete(read)).toBe(false);
    expect(locationRequest('x', read, true)?.location).toMatchObject(stored.location);
    expect(keepsSecrets(read, stored)).toBe(true);
    for (const name of ['address', 'user'])
      expect(keepsSecrets({ ...read, fields: { ...read.fields, [name]: 'x' } }, stored)).toBe(
        false,
      );
  });

  it('are not stored for a new location', () => {
    expect(keepsSecrets(values('mount_point'), undefined)).toBe(false);
  });
});

describe('errors', () => {
  it.each([
    ['mount_point', 'path', 'mnt', /start with \//],
    ['ftp', 'address', 'https://host', /ftp:\/\/ or ftps:\/\//],
    ['ftp', 'address', 'ftp://ann:secret@host', /own fields/],
    ['s3', 'endpoint', 'minio:9000', /https:\/\//],
    ['s3', 'proxy_url', 'proxy', /https:\/\//],
  ] as const)('of %s name an invalid %s', (type, field, text, error) => {
    expect(fieldError(values(type, { [field]: text }), field)).toMatch(error);
    expect(fieldError(values(type, { [field]: '' }), field)).toBeUndefined();
  });

  it.each([
    ['s3', { access_key_id: 'a' }],
    ['s3', { secret_access_key: 'a' }],
    ['gs', { client_email: 'a' }],
    ['abs', {}],
    ['abs', { account_key: 'a', sas_token: 'b' }],
    ['sftp', {}],
  ] as const)('are shown for incomplete credentials of %s: %o', (type, fields) => {
    expect(credentialsError(values(type, fields), false)).toMatch(/^Enter /);
    expect(credentialsError(values(type, fields), true)).toBeUndefined();
  });

  it.each([
    ['s3', {}],
    ['s3', S3],
    ['gs', { client_email: 'a', private_key: 'b' }],
    ['abs', { sas_token: 'b' }],
    ['sftp', { key: 'a' }],
  ] as const)('are not shown for complete credentials of %s: %o', (type, fields) => {
    expect(credentialsError(values(type, fields), false)).toBeUndefined();
  });
});

describe('the place of a location', () => {
  it.each([
    [{ type: 'mount_point', path: '/mnt/nas' }, '/mnt/nas'],
    [{ type: 's3', bucket_name: 'b', subdir: 'x', endpoint: '' }, 'b/x'],
    [{ type: 's3', bucket_name: 'b', endpoint: 'https://minio:9000' }, 'b at minio:9000'],
    [{ type: 'abs', container: 'c' }, 'c'],
    [{ type: 'ftp', url: 'ftp://ann@host/a' }, 'ftp://ann@host/a'],
    [{ type: 's3' }, ''],
  ])('is short: %o', (location, text) => {
    expect(placeText(storedAs(location).location)).toBe(text);
  });
});

it('a URL is a source of imports only', () => {
  expect(LOCATION_CHOICES.map(({ value }) => value)).not.toContain('url');
});
