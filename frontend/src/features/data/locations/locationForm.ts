/** Values of the form for a storage location and the requests that they make. Pure. */
import type { BackupLocation, LocationSettings, NewLocation } from '@/api/types';
import {
  type LocationField,
  type LocationType,
  type LocationTypeName,
  locationType,
} from './locationTypes';

export interface LocationValues {
  type: LocationTypeName;
  /** Values by the name of the field. */
  fields: Readonly<Record<string, string | boolean>>;
}

export const EMPTY_LOCATION: LocationValues = { type: 'mount_point', fields: {} };

const typeOf = ({ type }: LocationValues): LocationType => locationType(type) as LocationType;

export const isSecret = ({ kind }: LocationField): boolean => kind === 'secret' || kind === 'key';

export const textOf = ({ fields }: LocationValues, name: string): string =>
  typeof fields[name] === 'string' ? fields[name].trim() : '';

/** Return the values of a stored location. Its secrets are unknown. */
export function locationValues({ location }: Pick<BackupLocation, 'location'>): LocationValues {
  const { type, ...stored } = location;
  const { url } = locationType(type) ?? {};
  const fields = Object.fromEntries(
    Object.entries(stored).filter(([, value]) => ['string', 'boolean'].includes(typeof value)),
  ) as Record<string, string | boolean>;
  return {
    type: type as LocationTypeName,
    fields: url ? { ...fields, ...splitUrl(String(stored[url.field] ?? '')) } : fields,
  };
}

/** Return the settings for a request. Empty secrets are omitted, so that stored ones are kept. */
export function locationSettings(values: LocationValues): LocationSettings {
  const { url, fields } = typeOf(values);
  const isInUrl = (name: string) => url && ['address', 'user', 'password'].includes(name);
  const entries = fields
    .filter((field) => !isInUrl(field.name))
    .filter((field) => !isSecret(field) || textOf(values, field.name))
    .map((field) => [
      field.name,
      field.kind === 'switch' ? values.fields[field.name] === true : textOf(values, field.name),
    ]);
  return {
    type: values.type,
    ...Object.fromEntries(entries),
    ...(url && { [url.field]: joinUrl(values) }),
  };
}

/** Return whether the console keeps the stored secrets that are not entered. It does not send a password to another address. */
export function keepsSecrets(
  values: LocationValues,
  stored: Pick<BackupLocation, 'location'> | undefined,
): boolean {
  if (!stored) return false;
  const before = locationValues(stored);
  return ['address', 'user'].every((name) => textOf(values, name) === textOf(before, name));
}

/** Return the request of the form; undefined while a value is missing or invalid. */
export function locationRequest(
  name: string,
  values: LocationValues,
  isStored = false,
): NewLocation | undefined {
  if (!name.trim() || !isComplete(values, isStored)) return undefined;
  return { name: name.trim(), location: locationSettings(values) as NewLocation['location'] };
}

/** Return whether all required values are present and valid. Secrets of stored locations need not be entered again. */
export function isComplete(values: LocationValues, isStored = false): boolean {
  const { fields } = typeOf(values);
  return (
    fields.every(({ name, required }) => !required || textOf(values, name)) &&
    fields.every(({ name }) => fieldError(values, name) === undefined) &&
    credentialsError(values, isStored) === undefined
  );
}

/** Return why the value of a field is invalid; undefined if it is valid or empty. */
export function fieldError(values: LocationValues, name: string): string | undefined {
  const text = textOf(values, name);
  if (!text) return undefined;
  if (name === 'path') return text.startsWith('/') ? undefined : 'The path must start with /';
  if (name === 'address') return addressError(text, typeOf(values).url?.schemes ?? []);
  if (name === 'endpoint' || name === 'proxy_url') return addressError(text, ['https:', 'http:']);
  return undefined;
}

function addressError(text: string, schemes: readonly string[]): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url?.hostname || !schemes.includes(url.protocol))
    return `The address must start with ${schemes.map((scheme) => `${scheme}//`).join(' or ')} and contain a host`;
  return url.username || url.password
    ? 'Enter the user and the password in their own fields'
    : undefined;
}

/** Return why the credentials are incomplete; undefined if they are complete. */
export function credentialsError(values: LocationValues, isStored: boolean): string | undefined {
  const has = (name: string) => textOf(values, name) !== '';
  if (isStored) return undefined;
  if (values.type === 's3' && has('access_key_id') !== has('secret_access_key'))
    return 'Enter both the access key ID and the secret access key, or neither.';
  if (values.type === 'gs' && has('client_email') !== has('private_key'))
    return 'Enter both the service account and its private key, or neither.';
  if (values.type === 'abs' && has('account_key') === has('sas_token'))
    return 'Enter either the account key or a SAS token.';
  if (values.type === 'sftp' && !has('password') && !has('key'))
    return 'Enter the password or the private key.';
  return undefined;
}

/** Split a URL without password. The rest of its text is not changed, because the console compares it to keep the password. */
function splitUrl(text: string): Record<string, string> {
  if (!URL.canParse(text)) return { address: text };
  return {
    address: text.replace(/:\/\/[^/@]*@/, '://'),
    user: decodeURIComponent(new URL(text).username),
  };
}

function joinUrl(values: LocationValues): string {
  const address = textOf(values, 'address');
  if (!URL.canParse(address)) return address;
  const credentials = [textOf(values, 'user'), String(values.fields.password ?? '')]
    .filter(Boolean)
    .map(encodeURIComponent)
    .join(':');
  return credentials ? address.replace('://', `://${credentials}@`) : address;
}

/** Return a short text that identifies the place, without secrets; empty if the user cannot see it. */
export function placeText(location: LocationSettings): string {
  const text = (name: string) => String(location[name] ?? '');
  const url = locationType(location.type)?.url;
  if (url) return text(url.field);
  const place = [text('path') || text('bucket_name') || text('container'), text('subdir')]
    .filter(Boolean)
    .join('/');
  const host = URL.canParse(text('endpoint')) ? new URL(text('endpoint')).host : '';
  return host ? `${place} at ${host}` : place;
}
