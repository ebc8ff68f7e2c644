/** One door to the console's REST API: same-origin cookie, one error type, no secrets kept. */

export class ApiError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    /** The request field at fault, when the console names one. */
    readonly field?: string,
  ) {
    super(message);
    this.name = 'ApiError';
  }
}

/** The console is not reachable at all: no status, no body. */
export class OfflineError extends Error {
  constructor() {
    super('The console does not answer. Is it running?');
    this.name = 'OfflineError';
  }
}

type SignedOut = () => void;
let onSignedOut: SignedOut = () => undefined;

/** Called when a request was refused because nobody is signed in any more, so that the page can go to the login. */
export function whenSignedOut(listener: SignedOut): void {
  onSignedOut = listener;
}

const HEADERS = {
  Accept: 'application/json',
  // Proves to the console that the request comes from this page, not from a form elsewhere.
  'X-Requested-With': 'shardboard',
};

async function failure(response: Response): Promise<ApiError> {
  const body: Record<string, unknown> = await response.json().catch(() => ({}));
  const text = body.description ?? body.message ?? `The console answered ${response.status}.`;
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

/** What a query asks with: who does not wait any more ends the request. */
export const read =
  <T>(path: string) =>
  ({ signal }: { signal: AbortSignal }): Promise<T> =>
    request<T>('GET', path, undefined, signal);

/** For what is no JSON. */
export async function requestText(
  method: Method,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<string> {
  return (await answered(method, path, body, signal)).text();
}

/** A file, and the name that the console gave it. */
export async function requestFile(path: string): Promise<{ name: string; content: Blob }> {
  const response = await answered('GET', path);
  const [, name] =
    /filename="([^"]+)"/.exec(response.headers.get('content-disposition') ?? '') ?? [];
  return { name: name ?? 'download', content: await response.blob() };
}

async function answered(
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
    // Whoever does not wait any more is told nothing wrong.
    if (signal?.aborted) throw error;
    throw new OfflineError();
  }
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
