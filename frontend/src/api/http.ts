/** Client for the console's REST API: same-origin cookie, one error type, no stored secrets. */

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** The invalid request field, if the console names it. */
    readonly field?: string,
  ) {
    super(message);
    this.name = 'ApiError';
  }
}

/** The console is unreachable: no status, no body. */
export class OfflineError extends Error {
  constructor() {
    super('The console does not respond. Check that it is running.');
    this.name = 'OfflineError';
  }
}

type SignedOut = () => void;
let onSignedOut: SignedOut = () => undefined;

/** Set the listener that is called when a request is refused because the session has ended, so that the web UI can open the sign-in page. */
export function onSessionEnded(listener: SignedOut): void {
  onSignedOut = listener;
}

const HEADERS = {
  Accept: 'application/json',
  // CSRF protection: forms of other sites cannot send this header.
  'X-Requested-With': 'shardboard',
};

async function failure(response: Response): Promise<ApiError> {
  const body: Record<string, unknown> = await response.json().catch(() => ({}));
  const text =
    body.description ?? body.message ?? `The console responded with status ${response.status}.`;
  return new ApiError(
    response.status,
    String(body.error_code ?? 'unknown'),
    String(text),
    typeof body.field === 'string' ? body.field : undefined,
  );
}

type Method = 'GET' | 'POST' | 'PUT' | 'DELETE';

export async function request<T>(
  method: Method,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<T> {
  const text = await requestText(method, path, body, signal);
  return (text ? JSON.parse(text) : undefined) as T;
}

/** Return a query function. Its request is aborted when the last subscriber of the query leaves. */
export const getQuery =
  <T>(path: string) =>
  ({ signal }: { signal: AbortSignal }): Promise<T> =>
    request<T>('GET', path, undefined, signal);

/** Send a request and return the response body as text. */
export async function requestText(
  method: Method,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<string> {
  return (await fetchChecked(method, path, body, signal)).text();
}

/** Fetch a file with the name that the console sent for it. */
export async function requestFile(path: string): Promise<{ name: string; content: Blob }> {
  const response = await fetchChecked('GET', path);
  const [, name] =
    /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '') ?? [];
  return { name: name ?? 'download', content: await response.blob() };
}

/** Send the content of a file, and report how many bytes were sent. `fetch` does not report this. */
export function sendFile<T>(
  path: string,
  content: Blob,
  onProgress: (sent: number) => void,
  signal: AbortSignal,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const call = new XMLHttpRequest();
    call.open('PUT', path);
    for (const [name, value] of Object.entries(HEADERS)) call.setRequestHeader(name, value);
    call.setRequestHeader('Content-Type', 'application/octet-stream');
    call.upload.onprogress = ({ loaded }) => onProgress(loaded);
    call.onerror = () => reject(new OfflineError());
    call.onabort = () => reject(new DOMException('The upload was canceled.', 'AbortError'));
    call.onload = async () => {
      const response = new Response(call.responseText, { status: call.status });
      if (call.status === 401) onSignedOut();
      if (response.ok) resolve(JSON.parse(call.responseText));
      else reject(await failure(response));
    };
    signal.addEventListener('abort', () => call.abort());
    call.send(content);
  });
}

/** Check that a file can be downloaded, then let the browser download it to its disk. Rejects with the reason. */
export async function startDownload(path: string): Promise<void> {
  const controller = new AbortController();
  await fetchChecked('GET', path, undefined, controller.signal);
  controller.abort();
  const link = document.createElement('a');
  link.href = path;
  link.download = '';
  link.click();
}

async function fetchChecked(
  method: Method,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Response> {
  const response = await send(method, path, body, signal);
  if (response.status === 401 && !path.startsWith('/v1/session')) onSignedOut();
  if (!response.ok) throw await failure(response);
  return response;
}

async function send(
  method: Method,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<Response> {
  const headers: Record<string, string> = { ...HEADERS };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  try {
    return await fetch(path, {
      method,
      headers,
      credentials: 'same-origin',
      body: body === undefined ? null : JSON.stringify(body),
      signal: signal ?? null,
    });
  } catch (error) {
    // An aborted request is not a connection error.
    if (signal?.aborted) throw error;
    throw new OfflineError();
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
