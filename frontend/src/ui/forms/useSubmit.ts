/** Hook that submits one request at a time and provides the error if it is refused. */
import { useMutation } from '@tanstack/react-query';
import { useRef } from 'react';

export interface RequestFailure {
  /** The invalid request field, if the console names it. */
  field?: string | undefined;
  text: string;
}

/** Return the error as a sentence for display at its field, without the name of the field, with which messages of the console start. */
export function textAtField({ field, text }: RequestFailure): string {
  const rest =
    field && text.startsWith(field)
      ? text.slice(field.length).match(/^:? +(.+)$/s)?.[1]
      : undefined;
  return rest ? rest.charAt(0).toUpperCase() + rest.slice(1) : text;
}

export interface Submission<Args extends unknown[]> {
  /** Does nothing while a request is pending. */
  submit: (...args: Args) => void;
  busy: boolean;
  failure: RequestFailure | undefined;
  /** Clears the error when the user changes the input. */
  clear: () => void;
}

export function useSubmit<Args extends unknown[]>(
  work: (...args: Args) => Promise<unknown>,
): Submission<Args> {
  // A ref, because a second click can occur before the next render.
  const pending = useRef(false);
  const { mutate, isPending, error, reset } = useMutation({
    mutationFn: (args: Args) => work(...args),
    onSettled: () => {
      pending.current = false;
    },
    // The arguments can contain a password.
    gcTime: 0,
  });
  return {
    submit: (...args) => {
      if (pending.current) return;
      pending.current = true;
      mutate(args);
    },
    busy: isPending,
    failure: error ? failureOf(error) : undefined,
    // A pending request must not be reset, because its reply would be lost.
    clear: () => {
      if (!pending.current) reset();
    },
  };
}

const failureOf = (error: Error): RequestFailure => ({
  field: 'field' in error && typeof error.field === 'string' ? error.field : undefined,
  text: error.message,
});
