/** Ordering or saving something: one at a time, and what it was refused with. */
import { useMutation } from '@tanstack/react-query';
import { useRef } from 'react';

export interface Refusal {
  /** The field of the request at fault, when the console names one. */
  field?: string | undefined;
  text: string;
}

export interface Submission<Args extends unknown[]> {
  /** Does nothing while it still waits for an answer. */
  submit: (...args: Args) => void;
  busy: boolean;
  refusal: Refusal | undefined;
  /** What was refused is being changed. */
  forget: () => void;
}

export function useSubmit<Args extends unknown[]>(
  work: (...args: Args) => Promise<unknown>,
): Submission<Args> {
  // What was rendered last may be older than the click before this one.
  const waits = useRef(false);
  const { mutate, isPending, error, reset } = useMutation({
    mutationFn: (args: Args) => work(...args),
    onSettled: () => {
      waits.current = false;
    },
    // There may be a password in it.
    gcTime: 0,
  });
  return {
    submit: (...args) => {
      if (waits.current) return;
      waits.current = true;
      mutate(args);
    },
    busy: isPending,
    refusal: error ? refusalOf(error) : undefined,
    // While it waits there is nothing to forget, and its answer must not be missed.
    forget: () => {
      if (!waits.current) reset();
    },
  };
}

const refusalOf = (error: Error): Refusal => ({
  field: 'field' in error && typeof error.field === 'string' ? error.field : undefined,
  text: error.message,
});
