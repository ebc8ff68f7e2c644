/** Values of the form for an export and the request that they make. Pure. */
import type { ExportRequest } from '@/api/types';
import { linesOf, recipientsError } from '../locations/encryptionForm';
import {
  EMPTY_LOCATION,
  isComplete,
  type LocationValues,
  locationSettings,
} from '../locations/locationForm';

export interface ExportValues {
  location: LocationValues;
  /** Public keys, one per line; empty for files that are not encrypted. */
  recipients: string;
}

export const NEW_EXPORT: ExportValues = { location: EMPTY_LOCATION, recipients: '' };

/** Return the request; undefined while a value is missing or invalid. */
export function exportRequest({ location, recipients }: ExportValues): ExportRequest | undefined {
  if (!isComplete(location) || recipientsError(recipients)) return undefined;
  const keys = linesOf(recipients);
  return {
    export_location: locationSettings(location),
    ...(keys.length && { recipients: keys }),
  };
}
