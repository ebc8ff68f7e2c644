/** API of files that are uploaded for imports. */
import { OfflineError, request, sendFile } from '../http';
import type { NewUpload, Upload } from '../types';

const pathOf = (bdb: number) => `/v1/bdbs/${bdb}/uploads`;

/** Announce a file. Its content is sent afterwards. */
export const createUpload = (bdb: number, body: NewUpload) =>
  request<Upload>('POST', pathOf(bdb), body);

/** Send the content of a file. */
export async function sendUpload(
  { uid, bdb_uid }: Upload,
  content: Blob,
  onProgress: (sent: number) => void,
  signal: AbortSignal,
): Promise<Upload> {
  const path = `${pathOf(bdb_uid)}/${uid}`;
  try {
    return await sendFile<Upload>(`${path}/content`, content, onProgress, signal);
  } catch (error) {
    if (!(error instanceof OfflineError)) throw error;
    // The console can close the connection before the browser has sent everything. The reason is in the upload.
    const state = await request<Upload>('GET', path, undefined, signal);
    if (state.status === 'ready') return state;
    throw new Error(state.detail || error.message);
  }
}

export const deleteUpload = ({ uid, bdb_uid }: Pick<Upload, 'uid' | 'bdb_uid'>) =>
  request<unknown>('DELETE', `${pathOf(bdb_uid)}/${uid}`);
