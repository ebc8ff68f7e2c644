/** Values of the import wizard and the request that they make. Pure. */
import type { ImportReport, ImportRequest, InspectRequest, Upload } from '@/api/types';
import {
  EMPTY_LOCATION,
  isComplete,
  type LocationValues,
  locationSettings,
  textOf,
} from '../locations/locationForm';
import type { LocationTypeName } from '../locations/locationTypes';
import { isEvicting } from './restoreForm';

export interface ImportValues {
  source: LocationValues;
  /** Names of files below the location, one per line. Not used for URLs, which name one file each. */
  files: string;
  /** Files that were uploaded completely, for the source `upload`. */
  uploads: readonly Pick<Upload, 'uid' | 'name'>[];
  /** Private keys of encrypted files. */
  identities: string;
  /** Whether the user accepts that some keys are not imported. */
  acceptLosses: boolean;
  /** Whether the database may evict keys because they do not fit into its memory. */
  force: boolean;
  /** Name of the database, entered to confirm that its keys are deleted. */
  confirmation: string;
}

export const NEW_IMPORT: ImportValues = {
  source: { ...EMPTY_LOCATION, type: 'upload' },
  files: '',
  identities: '',
  acceptLosses: false,
  force: false,
  uploads: [],
  confirmation: '',
};

/** Return the values for another type of source. */
export const withSourceType = (type: LocationTypeName): ImportValues => ({
  ...NEW_IMPORT,
  source: { type, fields: {} },
});

export const isUrl = ({ source }: Pick<ImportValues, 'source'>): boolean => source.type === 'url';

export const isUpload = ({ source }: Pick<ImportValues, 'source'>): boolean =>
  source.type === 'upload';

/** Return the names of the files. */
export const fileNames = ({ files }: Pick<ImportValues, 'files'>): string[] =>
  files
    .split(/\r?\n/)
    .map((line) => line.trim())
    .filter(Boolean);

/** Return why the names are invalid; undefined if they are valid. */
export function filesError(values: Pick<ImportValues, 'files'>): string | undefined {
  const names = fileNames(values);
  if (names.some((name) => name.startsWith('/') || name.split('/').includes('..')))
    return 'Enter paths relative to the location, without ..';
  return new Set(names).size < names.length ? 'A file is listed twice' : undefined;
}

export const STEPS = ['Source', 'Files', 'Check', 'Confirm'] as const;
export const [FILES, CHECK] = [1, 2];

const TOO_LARGE = 'file-larger-than-mem-limit';

/** Return why a file cannot be decrypted; undefined if all can. */
export const keyError = (report: ImportReport | undefined): string | undefined =>
  report?.files.find(({ error_code }) => error_code === 'wrong-key')?.error;

/** Return whether the only problem is the memory limit, and the database can evict keys instead. */
export const canForce = ({ problems }: ImportReport, evictionPolicy: string | undefined): boolean =>
  problems.every(({ code }) => code === TOO_LARGE) &&
  problems.length > 0 &&
  isEvicting(evictionPolicy);

/** Return whether the report, and what the user accepts, allow the import. */
export function isAllowed(
  values: Pick<ImportValues, 'acceptLosses' | 'force'>,
  report: ImportReport | undefined,
  evictionPolicy: string | undefined,
): boolean {
  if (!report) return false;
  if (report.problems.length > 0 && !(values.force && canForce(report, evictionPolicy)))
    return false;
  return report.losses.length === 0 || values.acceptLosses;
}

/** Return whether the values of a step are complete and valid. */
export function isStepComplete(
  values: ImportValues,
  step: number,
  bdb: { name: string; eviction_policy?: string },
  report?: ImportReport,
): boolean {
  if (step === 0) return isUpload(values) ? values.uploads.length > 0 : isComplete(values.source);
  if (step === FILES)
    return (
      isUrl(values) ||
      isUpload(values) ||
      (fileNames(values).length > 0 && filesError(values) === undefined)
    );
  if (step === CHECK) return isAllowed(values, report, bdb.eviction_policy);
  return values.confirmation === bdb.name;
}

/** Return the sources of a request, one per file. */
function sourcesOf(values: ImportValues): InspectRequest['dataset_import_sources'] {
  if (isUpload(values))
    return values.uploads.map(({ uid }) => ({ type: 'upload', upload_uid: uid }));
  const settings = locationSettings(values.source);
  return isUrl(values)
    ? [settings]
    : fileNames(values).map((filename) => ({ ...settings, filename }));
}

/** Return the request for an inspection. */
export const inspectRequest = (values: ImportValues): InspectRequest => ({
  dataset_import_sources: sourcesOf(values),
  ...(values.identities.trim() && { identities: values.identities.trim() }),
});

/** Return the request for an import of inspected files. */
export const importRequest = (values: ImportValues, inspection: number): ImportRequest => ({
  ...inspectRequest(values),
  inspection_uid: inspection,
  accept_losses: values.acceptLosses,
  force: values.force,
});

/** Return the files as the user knows them, for the confirmation. */
export function importedFiles(values: ImportValues): string[] {
  if (isUpload(values)) return values.uploads.map(({ name }) => name);
  return isUrl(values) ? [textOf(values.source, 'address')] : fileNames(values);
}
