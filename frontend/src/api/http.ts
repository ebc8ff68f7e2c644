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

/** Called on every 401 except those of signing in, so that the page can go to the login. */
export function whenSignedOut(listener: SignedOut): void {
  onSignedOut = listener;
}

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

/** For what is no JSON. */
export async function requestText(
  method: Method,
  path: string,
  body?: unknown,
  signal?: AbortSignal,
): Promise<string> {
  const headers: Record<string, string> = {
    Accept: 'application/json',
    // Proves to the console that the request comes from this page, not from a form elsewhere.
    'X-Requested-With': 'shardboard',
  };
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  let response: Response;
  try {
    response = await fetch(path, {
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
  if (!response.ok) {
    const error = await failure(response);
    if (error.status === 401 && !path.startsWith('/v1/session')) onSignedOut();
    throw error;
  }
  return response.text();
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
