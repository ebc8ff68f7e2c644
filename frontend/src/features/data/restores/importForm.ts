/** Values of the import wizard and the request that they make. Pure. */
import type { ImportRequest } from '@/api/types';
import {
  EMPTY_LOCATION,
  isComplete,
  type LocationValues,
  locationSettings,
  textOf,
} from '../locations/locationForm';
import type { LocationTypeName } from '../locations/locationTypes';

export interface ImportValues {
  source: LocationValues;
  /** Names of files below the location, one per line. Not used for URLs, which name one file each. */
  files: string;
  /** Name of the database, entered to confirm that its keys are deleted. */
  confirmation: string;
}

export const NEW_IMPORT: ImportValues = {
  source: { ...EMPTY_LOCATION, type: 'url' },
  files: '',
  confirmation: '',
};

/** Return the values for another type of source. */
export const withSourceType = (type: LocationTypeName): ImportValues => ({
  ...NEW_IMPORT,
  source: { type, fields: {} },
});

export const isUrl = ({ source }: Pick<ImportValues, 'source'>): boolean => source.type === 'url';

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

export const STEPS = ['Source', 'Files', 'Confirm'] as const;

/** Return whether the values of a step are complete and valid. */
export function isStepComplete(values: ImportValues, step: number, bdbName: string): boolean {
  if (step === 0) return isComplete(values.source);
  if (step === 1)
    return isUrl(values) || (fileNames(values).length > 0 && filesError(values) === undefined);
  return values.confirmation === bdbName;
}

/** Return the request with one source per file. */
export function importRequest(values: ImportValues): ImportRequest {
  const settings = locationSettings(values.source);
  const sources = isUrl(values)
    ? [settings]
    : fileNames(values).map((filename) => ({ ...settings, filename }));
  return { dataset_import_sources: sources };
}

/** Return the files as the user knows them, for the confirmation. */
export const importedFiles = (values: ImportValues): string[] =>
  isUrl(values) ? [textOf(values.source, 'address')] : fileNames(values);
