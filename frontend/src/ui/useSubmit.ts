/** Ordering or saving something: one at a time, and what it was refused with. */
import { useMutation } from '@tanstack/react-query';

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
  const { mutate, isPending, error, reset } = useMutation({
    mutationFn: (args: Args) => work(...args),
  });
  return {
    submit: (...args) => {
      if (!isPending) mutate(args);
    },
    busy: isPending,
    refusal: error ? refusalOf(error) : undefined,
    forget: reset,
  };
}

const refusalOf = (error: Error): Refusal => ({
  field: 'field' in error && typeof error.field === 'string' ? error.field : undefined,
  text: error.message,
});
