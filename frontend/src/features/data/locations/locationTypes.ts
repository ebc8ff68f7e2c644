/** Types of storage locations with their form fields. Pure. */
import type { LocationSettings } from '@/api/types';

export interface LocationField {
  name: string;
  label: string;
  /** `secret` and `key` are never returned by the console. */
  kind: 'text' | 'secret' | 'key' | 'pem' | 'switch' | 'choice';
  description?: string;
  placeholder?: string;
  required?: boolean;
  choices?: readonly { value: string; label: string }[];
  /** Whether the field is in the collapsed part of the form. */
  isRare?: boolean;
}

export interface LocationType {
  label: string;
  help: string;
  /** Name of the field with a URL that can contain a user and a password. The form has separate fields for them. */
  url?: { field: string; schemes: readonly string[] };
  fields: readonly LocationField[];
}

const SUBDIR: LocationField = {
  name: 'subdir',
  label: 'Folder',
  kind: 'text',
  description: 'Optional; a folder within the bucket or container for all backups',
  placeholder: 'shardboard',
};
const ENDPOINT: LocationField = {
  name: 'endpoint',
  label: 'Endpoint',
  kind: 'text',
  isRare: true,
  description: 'URL of a compatible store or a private endpoint; if empty, the public service',
  placeholder: 'https://storage.example.com',
};
const CA: LocationField = {
  name: 'ca_cert',
  label: 'Trusted CAs',
  kind: 'pem',
  isRare: true,
  description: 'In PEM format; if empty, the CAs that the nodes trust',
};
const PROXY: LocationField = {
  name: 'proxy_url',
  label: 'HTTP proxy',
  kind: 'text',
  isRare: true,
  placeholder: 'http://proxy.example.com:3128',
};
const USER: LocationField = { name: 'user', label: 'User', kind: 'text' };
const PASSWORD: LocationField = { name: 'password', label: 'Password', kind: 'secret' };

const address = (placeholder: string, description?: string): LocationField => ({
  name: 'address',
  label: 'Address',
  kind: 'text',
  required: true,
  placeholder,
  ...(description !== undefined && { description }),
});

export const LOCATION_TYPES = {
  mount_point: {
    label: 'Mount point',
    help: 'A folder that all nodes can access at the same path, usually a network file system',
    fields: [
      {
        name: 'path',
        label: 'Path',
        kind: 'text',
        required: true,
        description:
          'An existing folder below /media, /mnt, /srv, or /var/backups, or below SHARDBOARD_BACKUP_ROOTS of the agents',
        placeholder: '/mnt/backups',
      },
    ],
  },
  s3: {
    label: 'S3 and compatible',
    help: 'Amazon S3, or a compatible store such as MinIO or Ceph',
    fields: [
      { name: 'bucket_name', label: 'Bucket', kind: 'text', required: true },
      SUBDIR,
      { name: 'region_name', label: 'Region', kind: 'text', placeholder: 'eu-central-1' },
      {
        name: 'access_key_id',
        label: 'Access key ID',
        kind: 'text',
        description: 'If empty, the credentials of the instance or container of each node',
      },
      { name: 'secret_access_key', label: 'Secret access key', kind: 'secret' },
      {
        ...ENDPOINT,
        isRare: false,
        description: 'URL of a compatible store; if empty, Amazon S3',
        placeholder: 'https://minio.example.com:9000',
      },
      {
        name: 'path_style',
        label: 'Bucket in the path',
        kind: 'switch',
        description: 'Required by most compatible stores, such as MinIO',
      },
      {
        name: 'sse',
        label: 'Server-side encryption',
        kind: 'choice',
        isRare: true,
        choices: [
          { value: '', label: 'As configured for the bucket' },
          { value: 'AES256', label: 'AES256' },
          { value: 'aws:kms', label: 'AWS KMS' },
        ],
      },
      {
        name: 'kms_key_id',
        label: 'KMS key ID',
        kind: 'text',
        isRare: true,
        description: 'Only for AWS KMS; if empty, the default key of the account',
      },
      { name: 'session_token', label: 'Session token', kind: 'secret', isRare: true },
      CA,
      PROXY,
    ],
  },
  gs: {
    label: 'Google Cloud Storage',
    help: 'A bucket of Google Cloud Storage',
    fields: [
      { name: 'bucket_name', label: 'Bucket', kind: 'text', required: true },
      SUBDIR,
      {
        name: 'client_email',
        label: 'Service account',
        kind: 'text',
        description: 'If empty, the credentials of the instance of each node',
        placeholder: 'backup@project.iam.gserviceaccount.com',
      },
      { name: 'client_id', label: 'Client ID', kind: 'text' },
      { name: 'private_key_id', label: 'Private key ID', kind: 'text' },
      { name: 'private_key', label: 'Private key', kind: 'key' },
      ENDPOINT,
      CA,
      PROXY,
    ],
  },
  abs: {
    label: 'Azure Blob Storage',
    help: 'A container of Azure Blob Storage',
    fields: [
      { name: 'container', label: 'Container', kind: 'text', required: true },
      SUBDIR,
      { name: 'account_name', label: 'Storage account', kind: 'text', required: true },
      { name: 'account_key', label: 'Account key', kind: 'secret' },
      {
        name: 'sas_token',
        label: 'SAS token',
        kind: 'secret',
        description: 'Instead of an account key',
      },
      ENDPOINT,
      CA,
      PROXY,
    ],
  },
  ftp: {
    label: 'FTP or FTPS',
    help: 'An FTP server, with or without TLS',
    url: { field: 'url', schemes: ['ftp:', 'ftps:'] },
    fields: [
      address(
        'ftps://files.example.com/backups',
        'FTP sends the password and all data unencrypted',
      ),
      USER,
      PASSWORD,
      CA,
    ],
  },
  sftp: {
    label: 'SFTP',
    help: 'An SFTP server',
    url: { field: 'sftp_url', schemes: ['sftp:'] },
    fields: [
      address('sftp://files.example.com/backups'),
      { ...USER, required: true },
      PASSWORD,
      {
        name: 'key',
        label: 'Private key',
        kind: 'key',
        description: 'In PEM or OpenSSH format; instead of a password',
      },
      {
        name: 'known_hosts',
        label: 'Host keys',
        kind: 'pem',
        description: 'Lines in the format of known_hosts, such as the output of ssh-keyscan',
      },
    ],
  },
  url: {
    label: 'URL',
    help: 'One file on a web server',
    url: { field: 'url', schemes: ['https:', 'http:'] },
    fields: [address('https://files.example.com/dump.rdb'), USER, PASSWORD, CA, PROXY],
  },
  upload: {
    label: 'This computer',
    help: 'RDB files, uploaded from your browser',
    fields: [],
  },
} as const satisfies Record<string, LocationType>;

export type LocationTypeName = keyof typeof LOCATION_TYPES;

/** Return the type with these fields; undefined if a newer console sends a type that this version does not know. */
export const locationType = (type: string): LocationType | undefined =>
  (LOCATION_TYPES as Record<string, LocationType>)[type];

const CHOICES = Object.entries(LOCATION_TYPES).map(([value, { label }]) => ({ value, label }));

/** Types that can only be a source of imports, the simplest one first. */
const SOURCES = ['upload', 'url'];

/** Types that can store backups. */
export const LOCATION_CHOICES = CHOICES.filter(({ value }) => !SOURCES.includes(value));

/** Types from which files can be imported. */
export const IMPORT_CHOICES = [
  ...SOURCES.flatMap((name) => CHOICES.filter(({ value }) => value === name)),
  ...LOCATION_CHOICES,
];

export const typeLabel = ({ type }: Pick<LocationSettings, 'type'>): string =>
  locationType(type)?.label ?? type;
